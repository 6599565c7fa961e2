"""A machine that follows the operations of one pickle without carrying them out.

It keeps the stack, the marks and the memo of the real one (versions 0 to 5 of the protocol, as CPython's ``pickle``
and ``pickletools`` define it), but an import only notes a name, and a call only notes what would be called with what.
Whatever the real machine would refuse, and whatever this one does not know, stops it: what cannot be followed is not
trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from engine.audit.pickles.values import Bag, Blob, Built, Global, Mapping, Persistent

MAX_OPERATIONS = 4_000_000
MAX_IMPORTS = 10_000
MAX_ARGUMENT = 1 << 16
MAX_KEPT = 128 << 20


class MalformedError(Exception):
    """A stream that is no pickle, or one that was broken on purpose. The message says what is wrong, for people."""


class CutError(MalformedError):
    """A stream that ends before its stop."""


class TooLongError(Exception):
    """A pickle with more operations, names or text than are followed."""


@dataclass(slots=True)
class Use:
    """An imported name and what is done with it.

    Args:
        at: the byte it was first imported at.
        called: called, or handed to something that is called.
        looked_up: called with one text or number, as the members of an enumeration are.
        initialised: called with other arguments, or handed on; an object made without its constructor is neither.
    """

    name: Global
    at: int
    called: bool = False
    looked_up: bool = False
    initialised: bool = False


@dataclass(slots=True)
class Reading:
    """One pickle as far as it could be followed.

    Args:
        value: what it describes; None if it could not be followed to its end.
        start, end: its first byte, and the byte behind the last one that was read.
        uses: the imported names in order.
        outside: the objects that it refers to and that lie elsewhere: for torch, the storages.
        fault: what is wrong with it; ``cut`` if that is only that the stream ends too early. ``too_long`` is no fault:
            nothing can be said of the rest.
    """

    start: int
    end: int = 0
    value: Any = None
    uses: dict[Global, Use] = field(default_factory=dict)
    operations: int = 0
    protocol: int = 0
    fault: str | None = None
    cut: bool = False
    too_long: bool = False
    outside: list[Persistent] = field(default_factory=list)

    @property
    def calls(self) -> bool:
        """Whether anything is called."""
        return any(use.called for use in self.uses.values())


class Machine:
    """The state of the reading of one pickle. ``stream`` stands at ``start``; nothing is read from ``end`` on."""

    def __init__(self, stream: BinaryIO, start: int, end: int) -> None:
        self.stream, self.position, self.end, self.begin = stream, start, end, start
        self.kept = 0
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.reading = Reading(start)

    def run(self, operations: dict[bytes, Callable[[Machine], object]], limit: int) -> None:
        """Follow operations until the stop.

        Raises:
            MalformedError, TooLongError: see there.
        """
        reading, read, find = self.reading, self.stream.read, operations.get
        while True:
            self.begin = self.position
            code = read(1) if self.begin < self.end else b""
            self.position += 1
            reading.operations += 1
            if code == b".":
                break
            if reading.operations > limit:
                raise TooLongError
            operation = find(code)
            if operation is None:
                self.position = self.begin
                raise (
                    MalformedError(f"operation 0x{code.hex()} is not supported") if code else CutError("it has no stop")
                )
            operation(self)
        if len(self.stack) != 1 or self.marks:
            raise MalformedError(f"{len(self.stack)} objects and {len(self.marks)} marks are left, not one object")
        reading.value = self.stack[0]

    # Arguments

    def take(self, size: int) -> bytes:
        """The next bytes of the stream."""
        data = self.stream.read(size) if self.position + size <= self.end else b""
        if len(data) != size:
            raise CutError("the stream ends in the middle")
        self.position += size
        return data

    def number(self, width: int) -> int:
        """An unsigned number of ``width`` bytes."""
        return int.from_bytes(self.take(width), "little")

    def counted(self, width: int, decode: Callable[[bytes], Any]) -> Any:
        """An argument with its length before it. A long one is passed over, and only its length is kept."""
        size = self.number(width)
        if size <= MAX_ARGUMENT:
            self.keep(size)
            return decode(self.take(size))
        if self.position + size > self.end:
            raise CutError(f"an argument of {size:,} bytes reaches beyond the end")
        self.stream.seek(size, 1)
        self.position += size
        return Blob(size)

    def line(self) -> bytes:
        """An argument that ends with a line."""
        data = self.stream.readline(min(self.end - self.position, MAX_ARGUMENT))
        self.position += len(data)
        self.keep(len(data))
        if not data.endswith(b"\n"):
            raise (CutError if self.position == self.end else MalformedError)("a line without an end")
        return data[:-1]

    def keep(self, size: int) -> None:
        self.kept += size
        if self.kept > MAX_KEPT:
            raise TooLongError

    # Stack, marks and memo

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def top(self) -> Any:
        if not self.stack:
            raise MalformedError("an operation needs an object and there is none")
        return self.stack[-1]

    def pop(self) -> Any:
        self.top()
        return self.stack.pop()

    def mark(self) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        """The objects above the last mark, which is taken away with them."""
        if not self.marks:
            raise MalformedError("an operation needs a mark and there is none")
        items, self.stack = self.stack, self.marks.pop()
        return items

    def discard(self) -> None:
        if self.stack:
            self.stack.pop()
        else:
            self.since_mark()

    def put(self, index: int) -> None:
        # Writers number the memo one by one; a huge number would make the real machine reserve memory for it.
        if index > self.reading.operations:
            raise MalformedError(f"memo number {index:,} is out of order")
        self.memo[index] = self.top()

    def get(self, index: int) -> None:
        if index not in self.memo:
            raise MalformedError(f"memo number {index:,} was never set")
        self.push(self.memo[index])

    # Imports and calls

    def imported(self, module: Any, name: Any) -> Global:
        """Note an import."""
        if not (isinstance(module, str) and isinstance(name, str) and _is_path(module) and _is_path(name)):
            raise MalformedError(f"an import of {shown(module)} {shown(name)}, which is no name")
        found, uses = Global(module, name), self.reading.uses
        if found not in uses:
            if len(uses) == MAX_IMPORTS:
                raise TooLongError
            uses[found] = Use(found, self.begin)
        return found

    def stack_global(self) -> None:
        name, module = self.pop(), self.pop()
        self.push(self.imported(module, name))

    def call(self, callee: Any, args: Any, constructor: bool = True) -> None:
        """Note a call. An imported name among the arguments counts as called, too: map(f, ...) calls f."""
        if not isinstance(callee, Global):
            raise MalformedError(f"a call of {shown(callee)}, which is no imported name")
        if not isinstance(args, tuple):
            raise MalformedError(f"a call with {shown(args)} for its arguments")
        use = self.reading.uses[callee]
        use.called = True
        if constructor and len(args) == 1 and isinstance(args[0], (str, int)):
            use.looked_up = True
        elif constructor:
            use.initialised = True
        self.handed(args)
        self.push(Built(callee, args))

    def handed(self, values: Iterable[Any]) -> None:
        for value in values:
            if isinstance(value, Global):
                use = self.reading.uses[value]
                use.called = use.initialised = True

    def reduce(self) -> None:
        args = self.pop()
        self.call(self.pop(), args)

    def new(self) -> None:
        args = self.pop()
        self.call(self.pop(), args, constructor=False)

    def new_with_keywords(self) -> None:
        keywords, args = self.pop(), self.pop()
        if not isinstance(keywords, Mapping):
            raise MalformedError(f"a call with {shown(keywords)} for its keywords")
        self.handed(value for _, value in keywords.items)
        self.call(self.pop(), args, constructor=False)

    def instance(self) -> None:
        module, name = text(self.line()), text(self.line())
        self.call(self.imported(module, name), tuple(self.since_mark()))

    def object_(self) -> None:
        items = self.since_mark()
        if not items:
            raise MalformedError("an object without a class")
        self.call(items[0], tuple(items[1:]))

    def build(self) -> None:
        state, target = self.pop(), self.top()
        if not isinstance(target, Built):
            raise MalformedError(f"a state for {shown(target)}, which was not built")
        self.handed(state if isinstance(state, tuple) else (state,))
        target.state = state

    def persistent(self, id_: Any) -> None:
        found = Persistent(id_)
        self.reading.outside.append(found)
        self.push(found)

    # Containers

    def tuple_of(self, size: int) -> None:
        if len(self.stack) < size:
            raise MalformedError("an operation needs more objects than there are")
        self.stack[-size:] = [tuple(self.stack[-size:])]

    def append(self, values: list[Any]) -> None:
        target = self.top()
        if isinstance(target, list):
            target.extend(values)
        elif isinstance(target, Built):
            if not isinstance(target.appended, list):
                target.appended = []
            target.appended.extend(values)
        else:
            raise MalformedError(f"members for {shown(target)}, which is no list")

    def set_items(self, flat: list[Any]) -> None:
        target = self.top()
        if not isinstance(target, (Mapping, Built)):
            raise MalformedError(f"items for {shown(target)}, which is no dict")
        if len(flat) % 2:
            raise MalformedError("a key without a value")
        if not isinstance(target.items, list):
            target.items = []
        target.items.extend(zip(flat[::2], flat[1::2], strict=True))

    def set_item(self) -> None:
        value, key = self.pop(), self.pop()
        self.set_items([key, value])

    def dict_(self) -> None:
        flat = self.since_mark()
        self.push(Mapping())
        self.set_items(flat)

    def add_members(self) -> None:
        values, target = self.since_mark(), self.top()
        if not isinstance(target, Bag):
            raise MalformedError(f"members for {shown(target)}, which is no set")
        target.members.extend(values)


def text(data: bytes) -> str:
    """UTF-8, with the lone surrogates that Python's pickles may hold."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise MalformedError("a text that is not UTF-8") from None


def shown(value: Any) -> str:
    """A value in a message: short, and never with anything to run."""
    if isinstance(value, (str, bytes)):
        return f"{value[:60]!r}"
    return value.path if isinstance(value, Global) else f"a {type(value).__name__.lower()}"


def _is_path(name: str) -> bool:
    return len(name) <= 500 and all(part.isidentifier() for part in name.split("."))
