"""The interface of an embedding model against its base and the intent, and the index that is searched with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from engine.audit.interface import MODULES, SETTINGS, Interface, interface, pooling_name
from engine.audit.ledger import Ledger, Place
from engine.audit.probes.card import CARD, front_matter
from engine.audit.probes.embedding_index import probe_index

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

_COMPARED = (
    "chain_faults",
    "pooling_differs",
    "normalize_differs",
    "prompts_differ",
    "dimension_faults",
    "length_faults",
)
_LIBRARY = "sentence-transformers"
# Modules that load weights of their own, and the files they look for.
_WEIGHTED = frozenset({"Transformer", "Dense", "LayerNorm", "WeightedLayerPooling", "LSTM", "CNN", "StaticEmbedding"})
_WEIGHTS = (".safetensors", ".bin", ".onnx", ".xml", ".pt")
_From = Literal["intent", "base"]


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the interface is and where it is another than expected."""
    ours = interface(checkpoint)
    base = interface(checkpoint.base) if checkpoint.base else None
    declared = checkpoint.intent.embedding_interface
    paradigm = checkpoint.intent.paradigm in ("embedding", "contrastive")
    embeds = (
        checkpoint.kind == "sentence_transformers" or base is not None or declared is not None or paradigm
    ) or _by_card(checkpoint)
    ledger.fact("audit.embedding.expected", embeds)
    index = checkpoint.intent.index
    ledger.fact(
        "audit.embedding.index_expected", index is not None or checkpoint.intent.release_kind == "index_rebuild"
    )
    if not embeds:
        return
    _files(checkpoint, ledger)
    indexed = probe_index(checkpoint, ours, ledger)
    if ours is None:
        for name in _COMPARED:
            ledger.unknown(
                f"audit.embedding.{name}",
                "There is no readable modules.json, so the interface is not declared.",
                "没有可读的 modules.json，接口未声明。",
            )
        return
    compare = _Comparison(checkpoint, ours, base, ledger)
    compare.state("chain_faults", list(_chain(checkpoint, ours, base)), base is not None or declared is not None)
    compare.pooling()
    compare.normalize()
    compare.prompts()
    compare.dimension(indexed)
    compare.length()


def _by_card(checkpoint: Checkpoint) -> bool:
    """Whether the model card hands whole weights to sentence-transformers."""
    if checkpoint.kind not in ("encoder", "causal_lm", "seq2seq"):
        return False
    card = front_matter(checkpoint)
    tags = card.get("tags")
    return _LIBRARY in (card.get("library_name"), *(tags if isinstance(tags, list) else ()))


def _files(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Files of the interface that the base has and the checkpoint does not."""
    fact = "audit.embedding.missing_files"
    if checkpoint.base is None:
        if MODULES in checkpoint.folder:
            ledger.count(fact, ())
        elif SETTINGS in checkpoint.folder or _by_card(checkpoint):
            who = SETTINGS if SETTINGS in checkpoint.folder else CARD
            ledger.count(fact, [Place(MODULES, "", "absent", f"there, as {who} is of {_LIBRARY}", "metadata")])
        else:
            ledger.unknown(
                fact,
                "There is no modules.json, and no base that could say whether there must be one.",
                "没有 modules.json，也没有能说明是否应有该文件的基座。",
            )
        return
    needed = [MODULES, SETTINGS]
    base = interface(checkpoint.base)
    if base is not None and MODULES not in checkpoint.folder:
        needed += [f"{module.path}/config.json" for module in base.modules if module.path]
    lost = [path for path in needed if path in checkpoint.base.folder and path not in checkpoint.folder]
    ledger.count(fact, (Place(path, "", "absent", "as in the base", "base") for path in lost))


def _chain(checkpoint: Checkpoint, ours: Interface, base: Interface | None) -> Iterator[Place]:
    """Modules without files, and a chain of other roles than the base's."""
    for module in ours.modules:
        held = [path for path in checkpoint.folder.entries if path.startswith(module.path + "/")]
        if module.path and module.role != "Normalize" and not held:
            yield Place(MODULES, module.path[:80], "no such folder", f"files of {module.role}"[:80], "format")
        elif module.path and module.role in _WEIGHTED and not any(path.endswith(_WEIGHTS) for path in held):
            yield Place(MODULES, module.path[:80], "no weights", f"weights of {module.role}"[:80], "format")
    if base is not None and ours.roles != base.roles:
        yield Place(MODULES, "$", _chained(ours), _chained(base), "base")


def _chained(found: Interface) -> str:
    return " → ".join(found.roles)[:120] or "nothing"


class _Comparison:
    """Facts of the interface beside what the intent declares, else beside the base's.

    A declared value stands for a change on purpose: the base is then not asked, unless the intent says that the
    interface must be the base's.
    """

    def __init__(self, checkpoint: Checkpoint, ours: Interface, base: Interface | None, ledger: Ledger) -> None:
        self.checkpoint, self.ours, self.base, self.ledger = checkpoint, ours, base, ledger
        self.declared = checkpoint.intent.embedding_interface
        self.must_match = bool(self.declared and self.declared.must_match_base)
        pooling = ours.first("Pooling")
        self.pooling_file = f"{pooling.path}/config.json" if pooling else MODULES

    def state(self, name: str, places: list[Place], compared: bool) -> None:
        """State a count of places; none found without anything to compare with is no statement."""
        if places or compared:
            self.ledger.count(f"audit.embedding.{name}", places)
        else:
            self.ledger.unknown(
                f"audit.embedding.{name}",
                "Neither the intent nor a base says what it must be.",
                "意图文件与基座都没有说明应当是什么。",
            )

    def expected(self, declared: object, base: object) -> list[tuple[object, _From]]:
        """What a value must be, and who says so."""
        found: list[tuple[object, _From]] = [(declared, "intent")] if declared is not None else []
        if self.base is not None and base is not None and (not found or self.must_match):
            found.append((base, "base"))
        return found

    def values(self, name: str, file: str, at: str, ours: object, expected: list[tuple[object, _From]]) -> None:
        """State where one value is not as expected."""
        places = [Place(file, at, _shown(ours), _shown(value), who) for value, who in expected if value != ours]
        self.state(name, places, bool(expected))

    def pooling(self) -> None:
        declared = pooling_name(self.declared.pooling) if self.declared and self.declared.pooling else None
        expected = self.expected(declared, self.base.pooling if self.base else None)
        places = [
            Place(self.pooling_file, "$.pooling_mode", _shown(self.ours.pooling), _shown(value), who)
            for value, who in expected
            if value != self.ours.pooling
        ]
        if self.ours.no_pooling:
            places.append(Place(self.pooling_file, "$", "no mode is on", "one mode", "format"))
        # Left out, it is true: the prompt is pooled like the text.
        before = self.base.include_prompt if self.base else None
        if self.base is not None and (self.ours.include_prompt is False) != (before is False):
            places.append(
                Place(self.pooling_file, "$.include_prompt", _shown(self.ours.include_prompt), _shown(before), "base")
            )
        self.state("pooling_differs", places, bool(expected))

    def normalize(self) -> None:
        declared = self.declared.normalize if self.declared else None
        expected = self.expected(declared, self.base.normalizes if self.base else None)
        self.values("normalize_differs", MODULES, "Normalize", self.ours.normalizes, expected)

    def prompts(self) -> None:
        places = []
        wanted = self.declared.prompts if self.declared else None
        for name, text in (wanted or {}).items():
            found = self.ours.prompts.get(name, "")
            if found != text:
                places.append(Place(SETTINGS, f"$.prompts.{name}"[:60], _shown(found), _shown(text), "intent"))
        base = self.base if self.base is not None and (wanted is None or self.must_match) else None
        if base is not None:
            for name in sorted({*base.prompts, *self.ours.prompts}):
                ours, theirs = self.ours.prompts.get(name, ""), base.prompts.get(name, "")
                if ours != theirs and not any(place.at == f"$.prompts.{name}"[:60] for place in places):
                    places.append(Place(SETTINGS, f"$.prompts.{name}"[:60], _shown(ours), _shown(theirs), "base"))
            if self.ours.default_prompt != base.default_prompt:
                ours_, theirs_ = _shown(self.ours.default_prompt), _shown(base.default_prompt)
                places.append(Place(SETTINGS, "$.default_prompt_name", ours_, theirs_, "base"))
        default = self.ours.default_prompt
        if default is not None and default not in self.ours.prompt_names:
            names = ", ".join(sorted(self.ours.prompt_names)) or "null"
            places.append(Place(SETTINGS, "$.default_prompt_name", _shown(default), names[:100], "config"))
        self.state("prompts_differ", places, wanted is not None or base is not None)

    def dimension(self, indexed: int | None) -> None:
        declared = self.declared.dimension if self.declared else None
        expected = self.expected(declared, self.base.dimension if self.base else None)
        ours = self.ours.dimension
        places = [
            Place(self.pooling_file, "dimension", _shown(ours), _shown(value), who)
            for value, who in expected
            if value != ours
        ]
        hidden = self.checkpoint.config.mapping.get("hidden_size") if self.checkpoint.config else None
        if (
            self.ours.width is not None
            and isinstance(hidden, int)
            and hidden != self.ours.width
            and not self._projects_first()
        ):
            places.append(
                Place(self.pooling_file, "$.embedding_dimension", str(self.ours.width), str(hidden), "config")
            )
        if indexed is not None and ours is not None and indexed != ours:
            places.append(Place("index metadata", "dim", str(indexed), str(ours), "config"))
        self.state("dimension_faults", places, bool(expected) or indexed is not None)

    def _projects_first(self) -> bool:
        """Whether a projection stands before the pooling, as in models that pool projected tokens."""
        roles = self.ours.roles
        return "Pooling" in roles and "Dense" in roles[: roles.index("Pooling")]

    def length(self) -> None:
        declared = self.declared.max_seq_length if self.declared else None
        expected = self.expected(declared, self.base.max_length if self.base else None)
        ours, file = self.ours.max_length, "sentence_bert_config.json"
        places = [Place(file, "$.max_seq_length", _shown(ours), _shown(v), who) for v, who in expected if v != ours]
        config = self.checkpoint.config.mapping if self.checkpoint.config else {}
        positions = config.get("max_position_embeddings")
        if ours is not None and isinstance(positions, int) and ours > positions > 0:
            places.append(Place(file, "$.max_seq_length", str(ours), f"at most {positions} positions", "config"))
        self.state("length_faults", places, bool(expected))


def _shown(value: object) -> str:
    return f"{value!r:.100}" if isinstance(value, str) else "none" if value is None else str(value).lower()
