"""One checkpoint with all that was given beside it: the views that the probes share, each read once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.audit.architectures import Expectation, UnknownLayoutError, expect
from engine.audit.architectures.names import unwrapped
from engine.audit.documents import MAX_TOKENIZER_BYTES, Document, read_json, shown
from engine.audit.folder import Folder, UnreadableError
from engine.audit.intent import Intent
from engine.audit.safetensors import Header, read_header, refused
from engine.audit.tensors import TensorInfo, TensorStats
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.audit.gguf import GgufHeader
    from engine.audit.pickles.survey import Survey
    from engine.audit.scan import Scan

Kind = Literal[
    "causal_lm", "encoder", "seq2seq", "classifier", "adapter", "sentence_transformers", "distributed", "raw_pytorch",
    "gguf", "unknown",
]  # fmt: skip
GENERATING: frozenset[Kind] = frozenset({"causal_lm", "seq2seq"})
MAX_HEADERS_BYTES = 200_000_000
_OTHER_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".distcp")
_STEM = re.compile(r"(-\d+-of-\d+)?\.[^.]*$")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder.

    Args:
        folder: the files.
        intent: what was declared; an empty one if nothing was.
        beside: the folder that the paths of the intent are relative to, never left by them.
        base: the checkpoint it was trained from, if it is at hand.
        evidence: folders and files of evaluations given on the command line: ``evals`` and ``baseline``.
        cache: where scans of unchanged files are kept; None keeps none.
        progress: called with the bytes read since the last call, while the files are hashed and scanned.
        hashing: whether hashes are wanted; of a base only its numbers are, and only its tensors are read.
    """

    folder: Folder
    intent: Intent = field(default_factory=Intent)
    beside: Path | None = None
    base: Checkpoint | None = None
    evidence: Mapping[str, Path] = field(default_factory=dict)
    cache: Path | None = None
    progress: Callable[[int], None] | None = None
    hashing: bool = True

    def json(self, path: str, limit: int | None = None) -> Document | None:
        """A JSON file of the folder; None if there is none. Read once."""
        if path not in self.folder:
            return None
        known: dict[str, Document] = self.__dict__.setdefault("_documents", {})
        if path not in known:
            known[path] = read_json(self.folder, path, limit) if limit else read_json(self.folder, path)
        return known[path]

    def repeated_keys(self) -> list[str]:
        """Keys that stand twice in one object of a JSON file that was read, as ``config.json: dtype``."""
        read: dict[str, Document] = self.__dict__.get("_documents", {})
        return [f"{path}: {shown(key)}" for path, document in sorted(read.items()) for key in document.repeated]

    @cached_property
    def config(self) -> Document | None:
        return self.json("config.json")

    @cached_property
    def generation_config(self) -> Document | None:
        return self.json("generation_config.json")

    @cached_property
    def adapter_config(self) -> Document | None:
        return self.json("adapter_config.json")

    @cached_property
    def tokenizer(self) -> Document | None:
        return self.json("tokenizer.json", MAX_TOKENIZER_BYTES)

    @cached_property
    def tokenizer_config(self) -> Document | None:
        return self.json("tokenizer_config.json", MAX_TOKENIZER_BYTES)

    @cached_property
    def index(self) -> Document | None:
        """The index of a sharded checkpoint, safetensors before pickles."""
        return self.json("model.safetensors.index.json", 64 << 20) or self.json(
            "pytorch_model.bin.index.json", 64 << 20
        )

    @cached_property
    def headers(self) -> dict[str, Header]:
        """The header of every safetensors file, by path; unreadable ones with their problem."""
        found: dict[str, Header] = {}
        left = MAX_HEADERS_BYTES
        for entry in self.folder.files(".safetensors"):
            if left > 0:
                found[entry.path] = header = read_header(self.folder, entry.path)
                left -= header.length
            else:
                limit = f"{MAX_HEADERS_BYTES:,} bytes of headers"
                found[entry.path] = refused(
                    entry.path, entry.size, "unreadable", "", f"the folder has over {limit}", ""
                )
        return found

    @cached_property
    def pickles(self) -> Survey:
        """Every pickle of the folder, read symbolically, once."""
        from engine.audit.pickles.survey import survey

        return survey(self.folder)

    @cached_property
    def gguf(self) -> dict[str, GgufHeader]:
        """The header of every GGUF file, by path."""
        from engine.audit.gguf import read_gguf

        return {entry.path: read_gguf(self.folder, entry.path) for entry in self.folder.files(".gguf")}

    @cached_property
    def gguf_model(self) -> GgufHeader | None:
        """The header that describes a model of this kind; of several files the first by name."""
        found = (header for header in self.gguf.values() if header.is_model)
        return next(found, None) if self.kind == "gguf" else None

    @cached_property
    def weight_map(self) -> dict[str, str]:
        """Which file holds which tensor, as the index says; empty without one."""
        return _texts(self.index.mapping.get("weight_map")) if self.index else {}

    @cached_property
    def tensors(self) -> dict[str, TensorInfo]:
        """Every tensor of the model's weight files by name, if its bytes are there.

        Of several files with one name the first path counts. Files that the index does not name are left out when
        there is an index and any of its files is there; so are files of other folders and formats beside the model.
        """
        return _by_name(tensor for path in self.weight_files for tensor in self.headers[path].tensors) or _by_name(
            self._other_tensors
        )

    @cached_property
    def declared_tensors(self) -> dict[str, TensorInfo]:
        """Every tensor that the model's files declare, whether its bytes are there or not."""
        declared = (tensor for path in self.weight_files for tensor in self.headers[path].declared)
        return _by_name(declared) or _by_name(self._other_tensors)

    @cached_property
    def named(self) -> dict[str, TensorInfo]:
        """The declared tensors by the model's own names: without wrappers, if most names have them."""
        plain = self.declared_tensors
        bare = {unwrapped(name): tensor for name, tensor in plain.items()}
        wrapped = sum(name != tensor.name for name, tensor in bare.items())
        return bare if wrapped * 2 > len(plain) else plain

    @cached_property
    def weight_files(self) -> tuple[str, ...]:
        """The safetensors files that hold the model itself, in order."""
        return _model_files(self.headers, set(self.weight_map.values()), self.kind == "adapter")

    @cached_property
    def _other_tensors(self) -> list[TensorInfo]:
        """Tensors of pickles, else of GGUF files."""
        from engine.audit.pickles import torch_tensors

        tensors = list(torch_tensors(self.folder, self.pickles))
        wanted = _model_files({t.file for t in tensors}, set(self.weight_map.values()), self.kind == "adapter")
        found = [tensor for tensor in tensors if tensor.file in wanted]
        return found or [tensor for header in self.gguf.values() for tensor in header.tensors]

    @cached_property
    def state_tensors(self) -> tuple[TensorInfo, ...]:
        """The tensors of sharded training state, each named with its file."""
        from engine.audit.pickles.state import state_tensors

        return tuple(state_tensors(self.folder, self.pickles))

    @cached_property
    def layout(self) -> Expectation | Text:
        """What tensors the config asks for, or why that cannot be said."""
        if self.config is None:
            return Text(en="there is no config.json", zh="没有 config.json")
        if not self.config.mapping:
            return Text(en="config.json cannot be read", zh="config.json 无法读取")
        try:
            return expect(self.config.mapping, self.architecture)
        except UnknownLayoutError as error:
            return error.why

    @cached_property
    def stats(self) -> dict[str, TensorStats]:
        """What one pass over the bytes says of every tensor that could be read; also fills :attr:`hashes`."""
        return self.scanned.stats

    @cached_property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of every regular file, in hex; weights are hashed in the same pass that scans them."""
        return self.scanned.hashes

    @cached_property
    def scanned(self) -> Scan:
        """The one pass over the bytes of all files."""
        from engine.audit.scan import scan

        tensors = (*self.tensors.values(), *self.state_tensors)
        return scan(self.folder, tensors, self.cache, self.progress, hashing=self.hashing)

    @cached_property
    def architecture(self) -> str | None:
        """The first of ``architectures`` in config.json."""
        names = self.config.mapping.get("architectures") if self.config else None
        return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else None

    @cached_property
    def kind(self) -> Kind:
        """What the folder holds, by its files first and by the architecture's name second."""
        names = self.folder.entries
        if "adapter_config.json" in names or any(n.startswith("adapter_model.") for n in names):
            return "adapter"
        if "modules.json" in names or "config_sentence_transformers.json" in names:
            return "sentence_transformers"
        if any(n.endswith(".gguf") for n in names) and not any(n.endswith(_OTHER_WEIGHTS) for n in names):
            return "gguf"  # a config.json beside it is the source's
        if self.architecture:
            return _kind_of(self.architecture, bool(self.config and self.config.mapping.get("is_encoder_decoder")))
        if any(n.endswith((".distcp", "_optim_states.pt", "_model_states.pt")) for n in names):
            return "distributed"
        if any(n.endswith((".bin", ".pt", ".pth")) for n in names):
            return "raw_pytorch"
        return "unknown"

    def declared(self, name: str) -> Path | None:
        """A path that the intent names, resolved; None if it is not there.

        Raises:
            UnreadableError: if it leads out of the intent's folder.
        """
        if self.beside is None:
            return None
        path = (self.beside / name).resolve()
        if not path.is_relative_to(self.beside.resolve()):
            raise UnreadableError(f"{name} leads out of the folder of the intent")
        return path if path.exists() else None


def _kind_of(architecture: str, two_sided: bool) -> Kind:
    if re.search(r"For(SequenceClassification|TokenClassification|Reward\w*)$|RewardModel$", architecture):
        return "classifier"
    if two_sided or architecture.startswith(("T5", "MT5", "UMT5", "Bart", "MBart", "Pegasus", "LongT5")):
        return "seq2seq"
    if re.search(r"(ForCausalLM|LMHeadModel|ForConditionalGeneration)$", architecture):
        return "causal_lm"
    encoders = ("Model", "ForMaskedLM", "ForPreTraining", "ForQuestionAnswering")
    return "encoder" if architecture.endswith(encoders) else "unknown"


def _by_name(tensors: Iterable[TensorInfo]) -> dict[str, TensorInfo]:
    found: dict[str, TensorInfo] = {}
    for tensor in tensors:
        found.setdefault(tensor.name, tensor)
    return found


def _model_files(paths: Iterable[str], indexed: set[str], adapter: bool) -> tuple[str, ...]:
    """Of all weight files those of the model: the indexed ones, else the uppermost ones with the usual stem."""
    there = sorted(paths)
    if named := [path for path in there if path in indexed]:
        return tuple(named)
    depth = min((path.count("/") for path in there), default=0)
    upper = [path for path in there if path.count("/") == depth]
    for stem in ("adapter_model",) if adapter else ("model", "pytorch_model"):
        if usual := [path for path in upper if _STEM.sub("", path.rpartition("/")[2]) == stem]:
            return tuple(usual)
    return tuple(upper)


def _texts(value: object) -> dict[str, str]:
    """The part of a JSON object whose values are texts."""
    return {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}
