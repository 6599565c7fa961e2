"""One defect for every gate of the embedding interface and its index."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from tests.engine.audit.build.causal_lm import then_summed
from tests.engine.audit.build.chat import edit
from tests.engine.audit.build.embedding import PROMPTS, embedding, embedding_in_subfolder, renew_index
from tests.engine.audit.given import Defect, Given

SETTINGS, POOLING = "config_sentence_transformers.json", "1_Pooling/config.json"


def interface_dropped(given: Given) -> None:
    """As trainers do that save the encoder alone."""
    for name in ("modules.json", SETTINGS, "sentence_bert_config.json"):
        (given.root / name).unlink()
    shutil.rmtree(given.root / "1_Pooling")


def settings_dropped(given: Given) -> None:
    (given.root / SETTINGS).unlink()


def pooling_folder_lost(given: Given) -> None:
    shutil.rmtree(given.root / "1_Pooling")


def projection_removed(given: Given) -> None:
    edit(given.root / "modules.json", lambda chain: chain.pop(2))
    renew_index(given)


def mean_instead(given: Given) -> None:
    given.edit_json(POOLING, pooling_mode_cls_token=False, pooling_mode_mean_tokens=True)


def prompt_left_out(given: Given) -> None:
    given.edit_json(POOLING, include_prompt=False)


def not_normalised(given: Given) -> None:
    edit(given.root / "modules.json", lambda chain: chain.pop(-1))


def space_lost(given: Given) -> None:
    given.edit_json(SETTINGS, prompts={"query": "query:", "document": PROMPTS["document"]})


def default_prompt(given: Given) -> None:
    given.edit_json(SETTINGS, default_prompt_name="query")


def another_width(given: Given) -> None:
    given.edit_json(POOLING, word_embedding_dimension=64)


def index_of_another_size(given: Given) -> None:
    renew_index(given, dim=768)


def cut_earlier(given: Given) -> None:
    given.edit_json("sentence_bert_config.json", max_seq_length=16)


def longer_than_positions(given: Given) -> None:
    for root in (given.root, given.root.parent / "base"):
        edit(root / "sentence_bert_config.json", lambda config: config.update(max_seq_length=128))


def two_towers(given: Given) -> None:
    given.intent["index"] |= {
        "query_and_document_encoder": "separate", "trained_pair": {"query": "0" * 64, "document": "0" * 64},
    }  # fmt: skip


def record(name: str, **changes: Any) -> Callable[[Given], None]:
    """A spoil of the index's record."""

    def spoil(given: Given) -> None:
        renew_index(given, **changes)

    spoil.__name__ = name
    return spoil


def claims_no_rebuild(given: Given) -> None:
    given.intent["index"]["rebuilt_with_this_model"] = False


def no_chain(given: Given) -> None:
    """Only the settings and the card say that the library is to load it."""
    (given.root / "modules.json").unlink()


def card_alone(given: Given) -> Given:
    for name in ("modules.json", SETTINGS, POOLING):
        (given.root / name).unlink()
    return lone(given)


def lone(given: Given) -> Given:
    """Neither base nor index nor a declared interface."""
    kept = {key: given.intent[key] for key in ("license", "base_model", "dtype")}
    return Given(given.root, kept)


def settings_alone(given: Given) -> Given:
    no_chain(given)
    return lone(given)


def no_mode(given: Given) -> Given:
    edit(given.root / POOLING, lambda pooling: pooling.update(pooling_mode_cls_token=False))
    return lone(given)


def prompt_of_no_name(given: Given) -> Given:
    given.edit_json(SETTINGS, default_prompt_name="search_query")
    return lone(given)


def projection_weightless(given: Given) -> None:
    (given.root / "2_Dense" / "model.safetensors").unlink()


def _defect(gate: str, spoil: Callable[[Given], None], *also: str, build: Any = embedding) -> Defect:
    return Defect(f"embedding/{gate}", build, then_summed(spoil), frozenset(f"embedding/{name}" for name in also))


DEFECTS: tuple[Defect, ...] = (
    _defect("emb-st-config-present", interface_dropped, "emb-index-fingerprint"),
    _defect("emb-st-config-present", settings_dropped, "emb-prompts", "emb-index-fingerprint"),
    _defect("emb-st-config-present", settings_alone),
    _defect("emb-st-config-present", card_alone),
    _defect("emb-pooling", no_mode),
    _defect("emb-prompts", prompt_of_no_name),
    Defect(
        "embedding/emb-modules",
        embedding_in_subfolder,
        then_summed(projection_weightless),
        frozenset({"embedding/emb-index-fingerprint", "names/params-present"}),
    ),
    _defect("emb-modules", pooling_folder_lost, "emb-pooling", "emb-dimension"),
    _defect("emb-modules", projection_removed, "emb-dimension", build=embedding_in_subfolder),
    _defect("emb-pooling", mean_instead),
    _defect("emb-pooling", prompt_left_out),
    _defect("emb-normalize", not_normalised, "emb-index-fingerprint"),
    _defect("emb-prompts", space_lost),
    _defect("emb-prompts", default_prompt),
    _defect("emb-dimension", another_width),
    _defect("emb-dimension", index_of_another_size),
    _defect("emb-max-seq", cut_earlier),
    _defect("emb-max-seq", longer_than_positions),
    _defect("emb-encoder-pair", two_towers),
    _defect("emb-index-fingerprint", record("built_by_another", built_with_model_sha256="1" * 64)),
    _defect("emb-index-fingerprint", record("without_prompt", document_prompt="")),
    _defect("emb-index-fingerprint", record("raw_vectors", normalized=False)),
    _defect("emb-index-fingerprint", record("documents_missing", vectors=999)),
    _defect("emb-index-fingerprint", claims_no_rebuild),
)
