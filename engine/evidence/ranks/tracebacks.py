"""Python tracebacks among the events of a record: exception, frames, and the last frame of the user's own code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from engine.evidence.series import LogEvent, RunRecord
from engine.evidence.signatures.places import clock_in, rank_of_file

_FRAME = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?')
_OF_GROUP = re.compile(r"^ *(?:\+[-+ ]* |\| )(?=\s|\w)")  # the frame around the parts of an exception group
_EXCEPTION = re.compile(r"^(?:\[\w+\]: ?)?(?P<name>[A-Za-z_][\w.]*)(?:: (?P<message>.*)|:?)$")
_LEVEL = re.compile(r"^(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b")
_LIBRARY = re.compile(
    r"site-packages|dist-packages|[/\\]lib[/\\]python\d|^<(?:frozen|string|stdin)"
    r"|[/\\](?:torch|transformers|accelerate|deepspeed|megatron|lightning|torchrun)[/\\]|[/\\]bin[/\\]"
)
# What a launcher raises because its children failed says nothing about why.
LAUNCHERS = frozenset(
    [
        "ChildFailedError",
        "CalledProcessError",
        "SignalException",
        "RendezvousConnectionError",
        "ExceptionGroup",
        "BaseExceptionGroup",
    ]
)
Phase = str
# A phase by a function on the stack; the first that fits counts, so that an evaluation's forward is evaluation.
_PHASES: tuple[tuple[Phase, re.Pattern[str]], ...] = (
    ("saving", re.compile(r"save_(?:checkpoint|pretrained|model|state|file)|_save_|^save$|full_state_dict")),
    ("evaluation", re.compile(r"eval|validat|prediction_(?:step|loop)|nested_(?:concat|gather)")),
    (
        "optimizer",
        re.compile(r"_init_group|initialize_optimizer_states|_multi_tensor|_single_tensor|initialize_state$"),
    ),
    ("backward", re.compile(r"backward")),
    ("loading", re.compile(r"load_(?:state_dict|checkpoint|pretrained)|from_pretrained|_load_|_rebuild_cuda")),
    ("forward", re.compile(r"^forward$|_call_impl|compute_loss|cross_entropy")),
)
_MAKES_STATE = re.compile(r"_init_group|initialize_optimizer_states|initialize_state$")
_OPTIMIZER_FILE = re.compile(r"optim(?:izer)?s?[/\\][\w]*\.py$|stage(?:_1_and_2|3)\.py$|fused_adam\.py$")


@dataclass(frozen=True, slots=True)
class Frame:
    """One call of a stack, the outermost first."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        """As people name it."""
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True)
class Traceback:
    """A stack and the exception at its end (none if the log ends before); ``time`` is that of the last stamped line."""

    where: str
    first: int
    last: int
    rank: int | None
    exception: str
    message: str
    frames: tuple[Frame, ...]
    time: float | None = None

    @property
    def name(self) -> str:
        """The exception without its module."""
        return self.exception.rpartition(".")[2]

    @property
    def own(self) -> Frame | None:
        """The innermost frame that is not of a library."""
        return next((frame for frame in reversed(self.frames) if not _LIBRARY.search(frame.file)), None)

    @property
    def makes_state(self) -> bool:
        """Whether the optimizer was making its state, which it does in its first step."""
        return any(_MAKES_STATE.search(frame.function) for frame in self.frames)

    @property
    def phase(self) -> Phase | None:
        """What training was doing: saving, evaluation, optimizer, backward, loading or forward."""
        for phase, pattern in _PHASES:
            if any(pattern.search(frame.function) for frame in self.frames):
                return phase
            in_optimizer = (f.function == "step" and _OPTIMIZER_FILE.search(f.file) for f in self.frames)
            if phase == "evaluation" and any(in_optimizer):
                return "optimizer"
        return None


def tracebacks(record: RunRecord) -> list[Traceback]:
    """The tracebacks of a record, in order; ranks may interleave."""
    by_rank: dict[int | None, list[LogEvent]] = {}
    for event in record.events:
        by_rank.setdefault(event.rank, []).append(event)
    of_file = rank_of_file(record.read.file)
    found = [
        one
        for rank, events in by_rank.items()
        for one in _parsed(events, record.read.file, of_file if rank is None else rank)
    ]
    return sorted(found, key=lambda one: one.first)


def _parsed(events: Iterable[LogEvent], file: str, rank: int | None) -> Iterable[Traceback]:
    begun: LogEvent | None = None
    clock: float | None = None
    frames: list[Frame] = []
    for event in events:
        text = _OF_GROUP.sub("", event.text, count=1)
        clock = clock_in(text) or clock
        if text.lstrip().removeprefix("Exception Group ").startswith("Traceback (most recent call last)"):
            begun, frames = event, []
        elif begun is not None:
            frame = _FRAME.match(text)
            end = _EXCEPTION.match(text)
            if frame is not None:
                frames.append(Frame(frame["file"], int(frame["line"]), frame["function"] or "?"))
            elif end is not None and frames and not _LEVEL.match(text):
                where = f"{file}:{event.line}"
                message = (end["message"] or "").strip()
                yield Traceback(where, begun.line, event.line, rank, end["name"], message, tuple(frames), clock)
                begun = None
    if begun is not None and frames:
        yield Traceback(f"{file}:{begun.line}", begun.line, begun.line, rank, "", "", tuple(frames), clock)
