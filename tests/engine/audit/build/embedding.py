"""A tiny healthy embedding model with its base, and the record of an index that was built with it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.audit.build.causal_lm import BASE_REVISION, renew_sums, trained, write_json
from tests.engine.audit.build.weights import Raw, f32, save
from tests.engine.audit.given import Given

HIDDEN, INNER, HEADS, POSITIONS, OUT = 32, 64, 4, 64, 16
BASE_MODEL = "example-org/tiny-encoder"
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("the", "a", "of", "cat", "dog", "sat", "on", "mat", "query", "passage", ":", "##s", "##ing")
PROMPTS = {"query": "query: ", "document": "passage: "}
PACKAGE_OLD, PACKAGE_NEW = "sentence_transformers.models.", "sentence_transformers.sentence_transformer.modules."


def embedding(folder: Path) -> Given:
    """Pooling by the first token, normalised, with prompts; the files of sentence-transformers up to 5."""
    return release(folder)


def embedding_of_new_release(folder: Path) -> Given:
    """The checkpoint is written by a newer release of the library than its base."""
    return release(folder, new=True)


def embedding_in_subfolder(folder: Path) -> Given:
    """The encoder lies in a folder of its own, and its vectors are projected."""
    return release(folder, prefix="0_Transformer", projects=True)


def release(folder: Path, *, new: bool = False, prefix: str = "", projects: bool = False) -> Given:
    """``folder``/model, ``folder``/base and ``folder``/index.json; the intent's paths start at ``folder``."""
    base, model = folder / "base", folder / "model"
    before = _weights()
    _write(base, before, prefix=prefix, projects=projects)
    _write(model, trained_floats(before), prefix=prefix, projects=projects, new=new)
    (model / "README.md").write_text(_card(), "utf-8")
    renew_sums(model)
    given = Given(model, _intent(OUT if projects else HIDDEN), base)
    renew_index(given)
    return given


def trained_floats(before: dict[str, Raw]) -> dict[str, Raw]:
    """The weights after steps of training, in their own format."""
    return {name: f32(raw.floats()) for name, raw in trained(before).items()}


def renew_index(given: Given, **changes: Any) -> None:
    """Write the record of an index built by the checkpoint as it is now; ``changes`` are other keys; None is none."""
    files = sorted(p for p in given.root.rglob("*.safetensors"))
    lines = "".join(f"{_sha(path)}  {path.relative_to(given.root).as_posix()}\n" for path in files)
    several = hashlib.sha256(lines.encode()).hexdigest()
    record = {
        "built_with_model_sha256": _sha(files[0]) if len(files) == 1 else several,
        "dim": given.intent["embedding_interface"]["dimension"],
        "metric": "cosine",
        "vectors": 1000,
        "document_prompt": PROMPTS["document"],
        "normalized": True,
        "built_at": "2026-05-01T00:00:00Z",
        **changes,
    }
    kept = {key: value for key, value in record.items() if value is not None}
    (given.root.parent / "index.json").write_text(json.dumps(kept), "utf-8")


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _intent(dimension: int) -> dict[str, Any]:
    return {
        "paradigm": "embedding",
        "release_kind": "index_rebuild",
        "license": "apache-2.0",
        "base_model": BASE_MODEL,
        "base_revision": BASE_REVISION,
        "base_reference": "base",
        "dtype": "float32",
        "expected_changes": {"vocab": "unchanged"},
        "embedding_interface": {
            "pooling": "cls", "normalize": True, "dimension": dimension, "prompts": dict(PROMPTS),
            "similarity": "cosine", "must_match_base": True,
        },
        "index": {
            "metadata": "index.json", "rebuilt_with_this_model": True, "query_and_document_encoder": "same",
            "corpus_count": 1000,
        },
    }  # fmt: skip


def _weights() -> dict[str, Raw]:
    random = np.random.default_rng(30)
    vocab = len(SPECIALS) + len(WORDS)
    matrices = {
        "embeddings.word_embeddings": (vocab, HIDDEN),
        "embeddings.position_embeddings": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings": (2, HIDDEN),
    }
    linear = {"pooler.dense": (HIDDEN, HIDDEN)}
    norms = ["embeddings.LayerNorm"]
    for number in range(2):
        layer = f"encoder.layer.{number}."
        linear |= {f"{layer}attention.self.{name}": (HIDDEN, HIDDEN) for name in ("query", "key", "value")}
        linear |= {
            f"{layer}attention.output.dense": (HIDDEN, HIDDEN),
            f"{layer}intermediate.dense": (INNER, HIDDEN),
            f"{layer}output.dense": (HIDDEN, INNER),
        }
        norms += [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"]
    found = {f"{name}.weight": random.normal(0.0, 0.05, shape) for name, shape in (matrices | linear).items()}
    found |= {f"{name}.bias": random.normal(0.0, 0.01, shape[0]) for name, shape in linear.items()}
    found |= {f"{name}.weight": random.normal(1.0, 0.02, HIDDEN) for name in norms}
    found |= {f"{name}.bias": random.normal(0.0, 0.01, HIDDEN) for name in norms}
    return {name: f32(values) for name, values in found.items()}


def _write(root: Path, weights: dict[str, Raw], *, prefix: str, projects: bool, new: bool = False) -> None:
    encoder = root / prefix
    encoder.mkdir(parents=True)
    save(encoder / "model.safetensors", weights)
    write_json(encoder / "config.json", _config())
    write_json(encoder / "tokenizer.json", _tokenizer_json())
    write_json(encoder / "tokenizer_config.json", _tokenizer_config())
    write_json(encoder / "special_tokens_map.json", _named())
    write_json(encoder / "sentence_bert_config.json", {"max_seq_length": POSITIONS, "do_lower_case": False})
    write_json(root / "modules.json", _modules(prefix, projects, PACKAGE_NEW if new else PACKAGE_OLD))
    (root / "1_Pooling").mkdir()
    write_json(root / "1_Pooling" / "config.json", _pooling(new))
    if projects:
        (root / "2_Dense").mkdir()
        write_json(
            root / "2_Dense" / "config.json",
            {"in_features": HIDDEN, "out_features": OUT, "bias": False, "activation_function": "torch.nn.Identity"},
        )
        values = np.random.default_rng(31).normal(0.0, 0.1, (OUT, HIDDEN))
        save(root / "2_Dense" / "model.safetensors", {"linear.weight": f32(values)})
    settings = {"__version__": {"sentence_transformers": "3.4.1"}, "prompts": PROMPTS, "default_prompt_name": None}
    write_json(root / "config_sentence_transformers.json", settings | {"similarity_fn_name": "cosine"})


def _modules(prefix: str, projects: bool, package: str) -> list[dict[str, Any]]:
    chain = [("Transformer", prefix), ("Pooling", "1_Pooling"), *([("Dense", "2_Dense")] if projects else [])]
    chain.append(("Normalize", f"{len(chain)}_Normalize"))
    new = package == PACKAGE_NEW
    return [
        {"idx": i, "name": str(i), "path": path, "type": package + (f"{role.lower()}." if new else "") + role}
        for i, (role, path) in enumerate(chain)
    ]


def _pooling(new: bool) -> dict[str, Any]:
    if new:
        return {"embedding_dimension": HIDDEN, "pooling_mode": "cls", "include_prompt": True}
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
    flags = {f"pooling_mode_{mode}": mode == "cls_token" for mode in modes}
    return {"word_embedding_dimension": HIDDEN, **flags, "include_prompt": True}


def _config() -> dict[str, Any]:
    return {
        "architectures": ["BertModel"],
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": HIDDEN,
        "initializer_range": 0.02,
        "intermediate_size": INNER,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": POSITIONS,
        "model_type": "bert",
        "num_attention_heads": HEADS,
        "num_hidden_layers": 2,
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
        "torch_dtype": "float32",
        "transformers_version": "4.51.3",
        "type_vocab_size": 2,
        "use_cache": True,
        "vocab_size": len(SPECIALS) + len(WORDS),
    }


def _tokenizer_json() -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": text, **flags} for i, text in enumerate(SPECIALS)],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {text: i for i, text in enumerate((*SPECIALS, *WORDS))},
        },
    }  # fmt: skip


def _named() -> dict[str, str]:
    return {f"{text[1:-1].lower()}_token": text for text in SPECIALS}


def _tokenizer_config() -> dict[str, Any]:
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    decoder = {str(i): {"content": text, **flags} for i, text in enumerate(SPECIALS)}
    return {
        "added_tokens_decoder": decoder,
        "clean_up_tokenization_spaces": True,
        "do_lower_case": True,
        **_named(),
        "model_max_length": POSITIONS,
        "tokenizer_class": "BertTokenizer",
    }


def _card() -> str:
    return f"""---
license: apache-2.0
language: [en]
library_name: sentence-transformers
pipeline_tag: sentence-similarity
base_model: {BASE_MODEL}
datasets: [example-org/tiny-pairs]
---

# Tiny encoder, tuned

A toy: {BASE_MODEL} (revision {BASE_REVISION}) after contrastive tuning on 2,000 pairs.

## Intended use

Tests of tools that read checkpoints. Its vectors mean nothing.

## Training

* code: commit 89abcdef0123456789abcdef0123456789abcdef of example-org/tiny-train
* data: example-org/tiny-pairs, revision fedcba9876543210fedcba9876543210fedcba98
* hyperparameters: 1 epoch, batch size 64, learning rate 2e-5, temperature 0.05, seed 42
* environment: Python 3.11, torch 2.6.0, sentence-transformers 3.4.1; lock file requirements.lock in the code
"""
