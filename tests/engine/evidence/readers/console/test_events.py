"""What is kept of a log whose lines are no records: rare lines, whole tracebacks, exact counts, bounded memory."""

from __future__ import annotations

import io

from engine.evidence.readers.console.events import Events, Repeated
from engine.evidence.readers.console.reader import read_console
from engine.evidence.readers.lines import Limits


def kept(lines: list[bytes], block: int = 500) -> Events:
    events = Events(Limits())
    for first in range(0, len(lines), block):
        some = lines[first : first + block]
        events.take(list(range(first + 1, first + 1 + len(some))), some, list(range(len(some))))
    return events


def test_a_warning_at_every_step_pushes_nothing_out() -> None:
    lines = [b"WARNING: step %d is slow" % step for step in range(20_000)]
    lines[11_000] = b"NVRM: Xid (PCI:0000:9b:00): 79, fallen off the bus; job exits"
    events = kept(lines).all()
    assert len(events) < 300
    assert "Xid" in next(event for event in events if event.line == 11_001).text
    warning = max((event for event in events if isinstance(event, Repeated)), key=lambda event: event.count)
    assert (warning.line, warning.count) == (20_000, 19_996)
    assert sum(event.count if isinstance(event, Repeated) else 1 for event in events) == 20_000


def test_ranks_are_kept_apart() -> None:
    lines = [b"[rank%d]: error: device %d lost" % (at % 64, at) for at in range(6_400)]
    events = [event for event in kept(lines).all() if event.line <= 6_000]
    assert {event.rank for event in events} == set(range(64))


def test_memory_is_bounded_whatever_the_words() -> None:
    lines = [b"error: " + bytes([103 + n % 20, 103 + n // 20 % 20, 103 + n // 400 % 20]) * 3 for n in range(9_000)]
    events = kept(lines)
    assert len(events.all()) <= Limits().marked_events + Limits().tail_events
    assert events.dropped > 0


def test_tracebacks_are_kept_whole_and_apart() -> None:
    frames = [b'  File "/home/me/model.py", line %d, in layer' % line for line in range(30)]
    one = [b"[rank1]: " + line for line in [b"Traceback (most recent call last):", *frames, b"ValueError: shape 3"]]
    two = [b"[rank2]: " + line for line in [b"Traceback (most recent call last):", *frames, b"KeyError: 'x'"]]
    mixed = [line for pair in zip(one, two, strict=True) for line in pair]
    lines = [*mixed, *([b"nothing of interest"] * 3_000)]
    events = kept(lines, block=7).all()
    assert [event.line for event in events if event.rank == 1] == list(range(1, 65, 2))
    assert [event.line for event in events if event.rank == 2] == list(range(2, 66, 2))


def test_the_same_traceback_again_is_not_kept_again() -> None:
    block = [
        b"Traceback (most recent call last):",
        b'  File "a.py", line 1, in f',
        b"    g()",
        b"ValueError: sample 17",
    ]
    events = kept(block * 500 + [b"fine"] * 300).all()
    frames = [event for event in events if event.text.startswith("  File")]
    assert len(frames) == 1


def test_a_traceback_without_end_stays_bounded() -> None:
    lines = [b"Traceback (most recent call last):", *(b"    f(%d)" % n for n in range(5_000))]
    assert len(kept(lines).all()) <= 400 + Limits().tail_events


def test_resumes_and_saves_are_all_seen() -> None:
    text = "".join(f"  successfully saved checkpoint at iteration {step} to /c\n" for step in range(100, 1_100, 100))
    record = read_console(io.BytesIO(text.encode()), "log", Limits())
    assert record.config["save_steps"] == 100.0
