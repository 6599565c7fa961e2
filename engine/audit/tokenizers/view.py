"""tokenizer.json as ids, pieces and parts. Source of the rules: the tokenizers library 0.23 (model builders, serde)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

MODELS = frozenset({"BPE", "WordPiece", "WordLevel", "Unigram"})
MAX_FAULTS = 20
MAX_DEPTH = 100  # the library's own reader stops at 128
_MAX_ID = 1 << 32
_FLAGS = ("special", "normalized", "single_word", "lstrip", "rstrip")


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is cut out of the text before the model sees it."""

    id: int
    content: str
    special: bool
    normalized: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the library would refuse the file, and where."""

    at: str
    observed: str
    expected: str


@dataclass(frozen=True)
class Tokenizer:
    """What tokenizer.json says.

    Args:
        path: of the file.
        model: BPE, WordPiece, WordLevel or Unigram; empty if it says none of them.
        vocab: piece to id; of two pieces of a Unigram list with one text the last counts.
        merges: the two sides of every merge, with a space between.
        added: in the order of the file.
        parts: the objects ``normalizer``, ``pre_tokenizer``, ``post_processor``, ``decoder``, ``truncation``,
            ``padding`` and ``options`` (the model without vocabulary and merges).
        faults: the first reasons why the file cannot be loaded.
    """

    path: str
    model: str
    vocab: Mapping[str, int]
    merges: tuple[str, ...]
    added: tuple[AddedToken, ...]
    parts: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    @cached_property
    def added_ids(self) -> dict[str, int]:
        """Ids of the added tokens by text."""
        return {token.content: token.id for token in self.added}

    @cached_property
    def texts(self) -> dict[int, str]:
        """Text of every id; of two texts on one id the added one, then the last one counts."""
        return {id_: text for text, id_ in self.vocab.items()} | {token.id: token.content for token in self.added}

    def id_of(self, text: str) -> int | None:
        """Id of a token by its text."""
        return self.added_ids.get(text, self.vocab.get(text))

    def is_one_token(self, text: str) -> bool | None:
        """Whether a text encodes to exactly one id of its own; None if only the model's pieces could tell."""
        if text in self.added_ids:
            return True
        return None if text in self.vocab else False

    def added_in(self, text: str) -> list[str]:
        """The added tokens that occur in a text, the longest first; those that only occur inside them are left out."""
        found = []
        for token in sorted((t for t in self.added_ids if t in text), key=len, reverse=True):
            if token in text:
                found.append(token)
                text = text.replace(token, "\0")
        return found


def parse_tokenizer(path: str, value: object) -> Tokenizer:
    """The view of the parsed JSON of ``path``; what cannot be read is left out and stands in ``faults``."""
    if not isinstance(value, dict):
        return Tokenizer(path, "", {}, (), (), faults=(Fault("$", type(value).__name__, "an object"),))
    faults: list[Fault] = []
    model = value.get("model")
    model = model if isinstance(model, dict) else {}
    kind = _kind(model, faults)
    vocab = _vocab(kind, model.get("vocab"), faults)
    merges = _merges(model, vocab, faults) if kind == "BPE" else ()
    unknown = model.get("unk_id")
    if kind == "Unigram" and type(unknown) is int and not 0 <= unknown < max(1, len(vocab)):
        faults.append(Fault("$.model.unk_id", str(unknown)[:20], f"less than {len(vocab)} pieces"))
    added = tuple(_added(value, faults))
    if value.get("version", "1.0") != "1.0":
        faults.append(Fault("$.version", f"{value['version']!r:.40}", "1.0"))
    names = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
    parts = {name: value.get(name) for name in names}
    for name in names:
        if parts[name] is not None and not isinstance(parts[name], dict):
            faults.append(Fault(f"$.{name}", type(parts[name]).__name__, "an object or null"))
            parts[name] = None
        elif _too_deep(parts[name]):
            faults.append(Fault(f"$.{name}", f"nested deeper than {MAX_DEPTH}", "what the library reads"))
            parts[name] = None
    parts["options"] = {k: v for k, v in model.items() if k not in ("vocab", "merges") and not _too_deep(v)}
    return Tokenizer(path, kind, vocab, merges, added, parts, tuple(faults[:MAX_FAULTS]))


def _too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)


def _kind(model: Mapping[str, Any], faults: list[Fault]) -> str:
    """The type of the model; old files leave it out, and its keys tell it."""
    kind = model.get("type")
    if kind is None and model:
        kind = "BPE" if "merges" in model else "Unigram" if isinstance(model.get("vocab"), list) else "WordPiece"
    if isinstance(kind, str) and kind in MODELS:
        return kind
    faults.append(Fault("$.model.type", f"{kind!r:.60}", "BPE, WordPiece, WordLevel or Unigram"))
    return ""


def _vocab(kind: str, vocab: object, faults: list[Fault]) -> dict[str, int]:
    if kind == "Unigram" and isinstance(vocab, list):
        found = {e[0]: i for i, e in enumerate(vocab) if isinstance(e, list) and len(e) == 2 and isinstance(e[0], str)}
        if any(not isinstance(entry, list) or len(entry) != 2 for entry in vocab):
            faults.append(Fault("$.model.vocab", "entries of another form", "pairs of piece and score"))
        return found
    if isinstance(vocab, dict):
        # A quarter of a million pieces are usual: the whole first, one by one only to name what is wrong.
        ids = vocab.values()
        if set(map(type, ids)) <= {int} and min(ids, default=0) >= 0 and max(ids, default=0) < _MAX_ID:
            return vocab
        found = {text: id_ for text, id_ in vocab.items() if type(id_) is int and 0 <= id_ < _MAX_ID}
        text, id_ = next((t, i) for t, i in vocab.items() if t not in found)
        faults.append(Fault("$.model.vocab", f"{text!r:.60}: {id_!r:.40}", "a whole number of at least 0"))
        return found
    if kind:
        faults.append(Fault("$.model.vocab", type(vocab).__name__, "pieces with their ids"))
    return {}


def _merges(model: Mapping[str, Any], vocab: Mapping[str, int], faults: list[Fault]) -> tuple[str, ...]:
    """Every merge as "a b", of files that write it so and of those that write ["a", "b"].

    The library refuses merges whose sides or result are no pieces. The first few of them are enough. There are hundreds
    of thousands of merges: texts, unlike pairs, cost the garbage collector nothing.
    """
    merges, prefix = model.get("merges"), model.get("continuing_subword_prefix")
    if not isinstance(merges, list):
        faults.append(Fault("$.model.merges", type(merges).__name__, "a list"))
        return ()
    cut = len(prefix) if isinstance(prefix, str) else 0
    found = []
    for place, merge in enumerate(merges):
        pair = merge.split(" ") if type(merge) is str else merge
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str or type(pair[1]) is not str:
            wrong = Fault(f"$.model.merges[{place}]", f"{merge!r:.60}", "two pieces")
        elif pair[0] in vocab and pair[1] in vocab and pair[0] + pair[1][cut:] in vocab:
            found.append(merge if type(merge) is str else f"{pair[0]} {pair[1]}")
            continue
        elif place == 0 and pair[0] == "#version:":
            continue  # older files carry the first line of merges.txt along
        else:
            lost = next(piece for piece in (*pair, pair[0] + pair[1][cut:]) if piece not in vocab)
            wrong = Fault(f"$.model.merges[{place}]", f"{lost!r:.60} is no piece", "pieces of the vocabulary")
        if len(faults) < MAX_FAULTS:
            faults.append(wrong)
    return tuple(found)


def _added(value: Mapping[str, Any], faults: list[Fault]) -> Iterator[AddedToken]:
    tokens = value.get("added_tokens", [])
    if not isinstance(tokens, list):
        faults.append(Fault("$.added_tokens", type(tokens).__name__, "a list"))
        return
    for place, token in enumerate(tokens):
        entry = token if isinstance(token, dict) else {}
        id_, content = entry.get("id"), entry.get("content")
        whole = isinstance(content, str) and all(isinstance(entry.get(flag), bool) for flag in _FLAGS)
        if type(id_) is not int or id_ < 0 or not whole:
            faults.append(
                Fault(f"$.added_tokens[{place}]", f"{token!r:.60}", f"an object with id, content, {_FLAGS[0]}, …")
            )
        elif content:
            yield AddedToken(id_, content, entry["special"], entry["normalized"])
