"""The record of a document index: whether its vectors come from this very model, made in the same way.

Keys of the record: built_with_model_sha256, dim, metric, vectors, document_prompt, normalized, pooling (may be absent).
The hash is that of the one weight file; of several, that of the lines ``sha256␣␣path`` of all weight files in order of
path, as sha256sum prints them; or that of the folder's SHA256SUMS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.audit.documents import MAX_CONFIG_BYTES, parse_json, written
from engine.audit.folder import UnreadableError
from engine.audit.interface import Interface, pooling_name
from engine.audit.ledger import Ledger, Place

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

REBUILT = "release.index_rebuilt"
_NEEDED = ("built_with_model_sha256", "document_prompt", "normalized", "dim")
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")
_METRICS = {
    "cosine": "cosine", "cos": "cosine", "cosinesimil": "cosine", "dot": "dot", "ip": "dot", "dot_product": "dot",
    "inner_product": "dot", "innerproduct": "dot", "max_inner_product": "dot", "l2": "euclidean",
    "euclidean": "euclidean", "euclid": "euclidean",
}  # fmt: skip


def probe_index(checkpoint: Checkpoint, ours: Interface | None, ledger: Ledger) -> int | None:
    """State whether the index was built by this model, and whether two encoders are the trained pair.

    Returns:
        The dimension that the record of the index states.
    """
    record, why = _record(checkpoint)
    if record is None:
        ledger.unknown(REBUILT, why[0], why[1])
    else:
        _rebuilt(checkpoint, ours, record, ledger)
    _pair(checkpoint, record, ledger)
    dimension = record.get("dim") if record else None
    return dimension if type(dimension) is int else None


def _record(checkpoint: Checkpoint) -> tuple[dict[str, Any] | None, tuple[str, str]]:
    """The metadata file of the index, or why there is none."""
    from engine.audit.evaluation.files import NoEvidenceError, declared

    index = checkpoint.intent.index
    if index is None or index.metadata is None:
        return None, ("The intent names no metadata of the index.", "意图文件没有给出索引元数据。")
    try:
        bundle = declared(checkpoint, index.metadata, "index.metadata")
        content = bundle.read(bundle.paths[0], MAX_CONFIG_BYTES) if bundle.single else b""
    except NoEvidenceError as error:
        return None, (error.text.en, error.text.zh)
    except UnreadableError as error:
        return None, (f"The metadata of the index cannot be read: {error}.", f"无法读取索引元数据：{error}。")
    document = parse_json(index.metadata, content)
    if not isinstance(document.value, dict):
        why = document.problem or "no object"
        return None, (f"The metadata of the index is no JSON object: {why}.", f"索引元数据不是 JSON 对象：{why}。")
    return document.value, ("", "")


def _rebuilt(checkpoint: Checkpoint, ours: Interface | None, record: Mapping[str, Any], ledger: Ledger) -> None:
    found = list(_mismatches(checkpoint, ours, record))
    lacking = [key for key in _NEEDED if record.get(key) is None]
    if lacking and not found:
        names = ", ".join(lacking)
        ledger.unknown(REBUILT, f"The metadata of the index lacks {names}.", f"索引元数据缺少 {names}。")
        return
    name = str(checkpoint.intent.index.metadata) if checkpoint.intent.index else ""
    ledger.fact(REBUILT, not found, found or [Place(name, "built_with_model_sha256", "the weights of this folder")])


def _mismatches(checkpoint: Checkpoint, ours: Interface | None, record: Mapping[str, Any]) -> Iterator[Place]:
    index, declared = checkpoint.intent.index, checkpoint.intent.embedding_interface
    name = str(index.metadata)[:80] if index else ""

    def place(key: str, observed: object, expected: object) -> Place:
        return Place(name, key, written(observed, 80), written(expected, 80), "config")

    built = record.get("built_with_model_sha256")
    known = fingerprints(checkpoint)
    if isinstance(built, str) and known and _hex(built) not in known:
        yield Place(name, "built_with_model_sha256", built[:80], known[0], "header")
    prompt = record.get("document_prompt")
    wanted = _document_prompt(declared.prompts if declared and declared.prompts else ours.prompts if ours else None)
    if isinstance(prompt, str) and wanted is not None and prompt != wanted:
        yield place("document_prompt", prompt, wanted)
    normalized = record.get("normalized")
    if isinstance(normalized, bool) and ours is not None and normalized != ours.normalizes:
        yield place("normalized", normalized, ours.normalizes)
    pooling = record.get("pooling")
    if isinstance(pooling, str) and ours is not None and ours.pooling and pooling_name(pooling) != ours.pooling:
        yield place("pooling", pooling, ours.pooling)
    metric = _METRICS.get(str(record.get("metric")).lower())
    similarity = _METRICS.get(str((declared and declared.similarity) or (ours and ours.similarity)).lower())
    # On vectors of unit length the three order documents alike.
    if metric and similarity and metric != similarity and normalized is not True:
        yield place("metric", record.get("metric"), similarity)
    vectors, corpus = record.get("vectors"), index.corpus_count if index else None
    if type(vectors) is int and corpus is not None and vectors != corpus:
        yield Place(name, "vectors", str(vectors), f"{corpus} documents", "intent")
    if index is not None and index.rebuilt_with_this_model is False:
        yield Place("intent", "index.rebuilt_with_this_model", "false", "true", "policy")


def _document_prompt(prompts: Mapping[str, str] | None) -> str | None:
    """The prompt of documents: none is the empty one; None if the interface is not known."""
    if prompts is None:
        return None
    return next((prompts[name] for name in _DOCUMENT_PROMPTS if name in prompts), "")


def _hex(text: str) -> str:
    return text.strip().lower().removeprefix("sha256:")


def fingerprints(checkpoint: Checkpoint) -> list[str]:
    """The hashes that a record of the index may name this model by."""
    hashes = checkpoint.hashes
    weights = sorted(path for path in hashes if path.endswith((".safetensors", ".bin", ".pt", ".pth")))
    roots = [path for path in weights if not path.partition("/")[0][:1].isdigit() or path.startswith("0_")]
    found = [hashes[path] for path in roots] if len(roots) == 1 else []
    if weights:
        lines = "".join(f"{hashes[path]}  {path}\n" for path in weights)
        found.append(hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest())
    return found + [hashes[path] for path in ("SHA256SUMS",) if path in hashes]


def _pair(checkpoint: Checkpoint, record: Mapping[str, Any] | None, ledger: Ledger) -> None:
    """Of two encoders, whether query and document encoder are the pair that was trained together."""
    index = checkpoint.intent.index
    kind = index.query_and_document_encoder if index else None
    two = kind is not None and kind.strip().lower() not in ("same", "single", "shared", "one")
    ledger.fact("audit.embedding.two_encoders", two)
    if not two:
        return
    fact = "audit.embedding.pair_matches"
    pair = index.trained_pair if index else None
    built = record.get("built_with_model_sha256") if record else None
    if not isinstance(pair, dict) or not isinstance(built, str):
        ledger.unknown(
            fact,
            "Two encoders need index.trained_pair {query, document} with both hashes, and the index's record.",
            "双编码器需要 index.trained_pair {query, document} 的哈希以及索引记录。",
        )
        return
    query, document = (_hex(str(pair.get(side))) for side in ("query", "document"))
    places = []
    if query not in fingerprints(checkpoint):
        places.append(Place("intent", "index.trained_pair.query", query[:64], "the weights of this folder", "header"))
    if document != _hex(built):
        places.append(Place("intent", "index.trained_pair.document", document[:64], _hex(built)[:64], "metadata"))
    ledger.fact(fact, not places, places)
