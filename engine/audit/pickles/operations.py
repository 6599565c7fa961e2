"""The operations of a pickle by their codes. Those that reach outside the stream (extension registry, buffers) are
left out, so that a pickle with one is not followed."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import BinaryIO

from engine.audit.pickles.machine import MAX_OPERATIONS, CutError, Machine, MalformedError, Reading, TooLongError, text
from engine.audit.pickles.values import Bag, Blob, Mapping


def follow(stream: BinaryIO, start: int, end: int, limit: int = MAX_OPERATIONS) -> Reading:
    """Follow one pickle from ``start`` to its stop, at most to ``end``. The stream is moved to ``start`` first."""
    stream.seek(start)
    machine = Machine(stream, start, end)
    reading = machine.reading
    try:
        machine.run(_OPERATIONS, limit)
    except MalformedError as error:
        reading.fault = f"{error} (byte {machine.begin:,})"
        reading.cut = isinstance(error, CutError)
    except TooLongError:
        reading.too_long = True
    reading.end = machine.position
    return reading


def _protocol(machine: Machine) -> None:
    version = machine.number(1)
    if version > 5:
        raise MalformedError(f"protocol {version}, which does not exist")
    machine.reading.protocol = version


def _index(machine: Machine) -> int:
    line = machine.line()
    if not line.isdigit() or len(line) > 10:
        raise MalformedError("a memo number that is none")
    return int(line)


def _integer_line(machine: Machine) -> int | Blob:
    line = machine.line()
    if line in (b"00", b"01"):
        return line == b"01"
    digits = line.removesuffix(b"L")
    if len(digits) > 4000:  # beyond this Python refuses to convert, for the time it takes
        return Blob(len(digits))
    try:
        return int(digits)
    except ValueError:
        raise MalformedError("a number that is none") from None


def _float_line(machine: Machine) -> float:
    try:
        return float(machine.line())
    except ValueError:
        raise MalformedError("a number that is none") from None


def _quoted_line(machine: Machine) -> str:
    # Escapes stay as they are written: a name with one is then no name, and nothing else is asked of the text.
    line = machine.line().strip()
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
        raise MalformedError("a text without quotes")
    return _latin(line[1:-1])


def _global_line(machine: Machine) -> None:
    module, name = text(machine.line()), text(machine.line())
    machine.push(machine.imported(module, name))


def _latin(data: bytes) -> str:
    return data.decode("latin-1")


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _double(machine: Machine) -> float:
    value: float = struct.unpack(">d", machine.take(8))[0]
    return value


_OPERATIONS: dict[bytes, Callable[[Machine], object]] = {
    # Frame of the stream
    b"\x80": _protocol,
    b"\x95": lambda m: m.take(8),
    # Stack, marks and memo
    b"(": Machine.mark,
    b"0": Machine.discard,
    b"1": Machine.since_mark,
    b"2": lambda m: m.push(m.top()),
    b"p": lambda m: m.put(_index(m)),
    b"q": lambda m: m.put(m.number(1)),
    b"r": lambda m: m.put(m.number(4)),
    b"\x94": lambda m: m.put(len(m.memo)),
    b"g": lambda m: m.get(_index(m)),
    b"h": lambda m: m.get(m.number(1)),
    b"j": lambda m: m.get(m.number(4)),
    # Constants and numbers
    b"N": lambda m: m.push(None),
    b"\x88": lambda m: m.push(True),
    b"\x89": lambda m: m.push(False),
    b"I": lambda m: m.push(_integer_line(m)),
    b"L": lambda m: m.push(_integer_line(m)),
    b"F": lambda m: m.push(_float_line(m)),
    b"J": lambda m: m.push(_signed(m.take(4))),
    b"K": lambda m: m.push(m.number(1)),
    b"M": lambda m: m.push(m.number(2)),
    b"G": lambda m: m.push(_double(m)),
    b"\x8a": lambda m: m.push(m.counted(1, _signed)),
    b"\x8b": lambda m: m.push(m.counted(4, _signed)),
    # Texts and bytes
    b"S": lambda m: m.push(_quoted_line(m)),
    b"V": lambda m: m.push(_latin(m.line())),
    b"T": lambda m: m.push(m.counted(4, _latin)),
    b"U": lambda m: m.push(m.counted(1, _latin)),
    b"X": lambda m: m.push(m.counted(4, text)),
    b"\x8c": lambda m: m.push(m.counted(1, text)),
    b"\x8d": lambda m: m.push(m.counted(8, text)),
    b"B": lambda m: m.push(m.counted(4, bytes)),
    b"C": lambda m: m.push(m.counted(1, bytes)),
    b"\x8e": lambda m: m.push(m.counted(8, bytes)),
    b"\x96": lambda m: m.push(m.counted(8, bytes)),
    # Containers
    b")": lambda m: m.push(()),
    b"t": lambda m: m.push(tuple(m.since_mark())),
    b"\x85": lambda m: m.tuple_of(1),
    b"\x86": lambda m: m.tuple_of(2),
    b"\x87": lambda m: m.tuple_of(3),
    b"]": lambda m: m.push([]),
    b"l": lambda m: m.push(m.since_mark()),
    b"a": lambda m: m.append([m.pop()]),
    b"e": lambda m: m.append(m.since_mark()),
    b"}": lambda m: m.push(Mapping()),
    b"d": Machine.dict_,
    b"s": Machine.set_item,
    b"u": lambda m: m.set_items(m.since_mark()),
    b"\x8f": lambda m: m.push(Bag()),
    b"\x90": Machine.add_members,
    b"\x91": lambda m: m.push(Bag(m.since_mark())),
    # Imports, calls and what lies outside
    b"c": _global_line,
    b"\x93": Machine.stack_global,
    b"R": Machine.reduce,
    b"\x81": Machine.new,
    b"\x92": Machine.new_with_keywords,
    b"i": Machine.instance,
    b"o": Machine.object_,
    b"b": Machine.build,
    b"P": lambda m: m.persistent(_latin(m.line())),
    b"Q": lambda m: m.persistent(m.pop()),
}
