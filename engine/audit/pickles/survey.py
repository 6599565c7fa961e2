"""Every pickle of a folder, found by content and followed once.

A name says nothing: a file is a pickle if it begins like one, or if following it from its first byte leads to its end
or to a call. Archives are opened member by member, and several in one file are told apart, as the shards of
``torch.distributed.checkpoint`` hold one after the other.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO, Literal

from engine.audit.documents import shown
from engine.audit.folder import Folder, UnreadableError
from engine.audit.pickles import torchsave
from engine.audit.pickles.archive import (
    LOCAL,
    Archive,
    ArchiveError,
    Member,
    ends_with_archive,
    member_bytes,
    member_head,
    read_archive,
)
from engine.audit.pickles.machine import MAX_ARGUMENT, MAX_OPERATIONS, Reading, Use
from engine.audit.pickles.operations import follow
from engine.audit.pickles.torchsave import Storage
from engine.audit.tensors import TensorInfo

Form = Literal["torch", "legacy", "pickle", "array", "member"]
MAX_ALL_OPERATIONS = 8_000_000
MAX_INFLATED = 256 << 20
WEIGHT_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".distcp", ".metadata")
_PACKED = {
    b"7z\xbc\xaf\x27\x1c": "7z", b"\x1f\x8b\x08": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"Rar!\x1a\x07": "rar",
    b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4",
}  # fmt: skip
_ARCHIVES = (LOCAL, b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\xfd7zXZ\0")
_ARRAY = b"\x93NUMPY"
# How much of a member is read before it is told from a pickle; a packed one is worth a second look before all of it is.
HEAD_SIZES = (512, 1 << 17)
# Opening an archive or a member takes as long as so many operations.
_COST_OF_ARCHIVE, _COST_OF_MEMBER = 20, 4


@dataclass
class Pickled:
    """One pickle with the storages beside it. ``at`` is the member of an archive, or empty."""

    path: str
    at: str
    form: Form
    reading: Reading
    storages: dict[str, Storage] = field(default_factory=dict)
    scripted: bool = False
    section: int = 0

    @property
    def value(self) -> Any:
        """What the pickle describes; None if it could not be followed to its end."""
        return self.reading.value

    def tensors(self, below: Any = None, *, lists: bool = False) -> Iterator[TensorInfo]:
        """The tensors below a part of the value, or below all of it, that their storages hold."""
        for name, tensor in torchsave.tensors(self.value if below is None else below, lists=lists):
            storage = self.storages.get(tensor.storage)
            found = torchsave.place(self.path, name, tensor, storage) if storage else None
            if found is not None:
                yield found

    @property
    def uses(self) -> Iterable[Use]:
        return self.reading.uses.values()


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a file that its loader may stumble over, or that was made to lead a scanner astray."""

    path: str
    at: str
    what: str


@dataclass
class Survey:
    """The pickles of a folder. ``unread`` are files of which nothing can be said, each with the reason."""

    pickles: list[Pickled] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    unread: list[Fault] = field(default_factory=list)

    def of(self, path: str) -> list[Pickled]:
        """The pickles of one file."""
        return self.by_path.get(path, [])

    @cached_property
    def by_path(self) -> dict[str, list[Pickled]]:
        """The pickles of each file; asked for when all were looked at."""
        found: dict[str, list[Pickled]] = {}
        for pickled in self.pickles:
            found.setdefault(pickled.path, []).append(pickled)
        return found


def survey(folder: Folder, operations: int = MAX_ALL_OPERATIONS) -> Survey:
    """Look at every regular file of the folder. Nothing is imported, built, called or unpacked to the disk.

    Args:
        operations: how many are followed in all; what comes after them is unread.
    """
    look = _Look(Survey(), operations)
    if folder.truncated:
        look.survey.unread.append(Fault(".", "", f"only the first {len(folder.entries):,} files are listed"))
    for entry in folder.files():
        if entry.size < 2:
            continue
        try:
            with folder.open(entry.path) as raw, io.BufferedReader(raw) as stream:
                look.file(stream, entry.path, entry.size)
        except (UnreadableError, OSError) as error:
            look.survey.unread.append(Fault(entry.path, "", str(error)))
            continue
        if not folder.unchanged(entry.path):
            look.survey.unread.append(Fault(entry.path, "", "changed while it was read"))
    return look.survey


@dataclass
class _Look:
    """One walk over the files, with what is left of its budgets."""

    survey: Survey
    operations: int
    inflated: int = MAX_INFLATED

    def file(self, stream: BinaryIO, path: str, size: int) -> None:
        if self.spent(path, ""):
            return
        stream.seek(0)
        head = stream.read(512)
        packed = next((kind for magic, kind in _PACKED.items() if head.startswith(magic)), None)
        if packed or head[257:262] == b"ustar":
            what = f"packed as {packed or 'tar'}, and not opened"
            weights = path.endswith(WEIGHT_SUFFIXES)
            (self.survey.faults if weights else self.survey.unread).append(Fault(path, "", what))
        elif head.startswith(LOCAL) or ends_with_archive(stream, size):
            self.archives(stream, path, size)
        elif head.startswith(_ARRAY):
            self.array(stream, path, "", 0, size)
        else:
            self.pickle(stream, path, size, head)

    # Pickles

    def followed(self, stream: BinaryIO, start: int, end: int) -> Reading:
        reading = follow(stream, start, end, min(self.operations, MAX_OPERATIONS))
        self.operations -= reading.operations
        return reading

    def spent(self, path: str, at: str) -> bool:
        """Whether there is nothing left of the budget, which is then said."""
        if self.operations > 0:
            return False
        self.survey.unread.append(Fault(path, at, "not looked at: the other pickles are too long"))
        return True

    def pickle(self, stream: BinaryIO, path: str, end: int, head: bytes) -> None:
        """A file that is one pickle, several of the older torch format, or something else."""
        reading = self.followed(stream, 0, end)
        if reading.value == torchsave.MAGIC and reading.fault is None:
            self.legacy(stream, path, reading, end)
        elif _is_pickle(reading, end, begins=_begins(head) and not _is_safetensors(head, end)):
            self.add(Pickled(path, "", "pickle", reading), end)

    def add(self, pickled: Pickled, end: int) -> None:
        reading = pickled.reading
        self.survey.pickles.append(pickled)
        if reading.fault is not None:
            self.survey.faults.append(Fault(pickled.path, pickled.at, reading.fault))
        elif reading.too_long:
            what = f"longer than is followed, {reading.operations:,} operations"
            self.survey.unread.append(Fault(pickled.path, pickled.at, what))
        elif reading.end != end:
            what = f"{end - reading.end:,} bytes follow its end (byte {reading.end:,})"
            self.survey.faults.append(Fault(pickled.path, pickled.at, what))

    def legacy(self, stream: BinaryIO, path: str, reading: Reading, end: int) -> None:
        """Magic number, version, system, object and storage keys, each a pickle; then the storages."""
        parts = [reading]
        while len(parts) < 5:
            parts.append(self.followed(stream, parts[-1].end, end))
            if parts[-1].fault or parts[-1].too_long:
                self.add(Pickled(path, "", "legacy", parts[-1]), end)
                return
        pickled, position = Pickled(path, "", "legacy", parts[3]), parts[4].end
        pickled.reading.uses.update({name: use for part in parts for name, use in part.uses.items()})
        self.survey.pickles.append(pickled)
        bits = {k[0]: torchsave.storage_bits(s) for s in parts[3].outside if (k := torchsave.storage_key(s))}
        for key in parts[4].value if isinstance(parts[4].value, list) else ():
            size = bits.get(str(key))
            if size is None:
                self.survey.faults.append(Fault(path, "", f"storage {str(key)[:40]!r} has no size"))
                return
            # Eight bytes with the number of elements stand before each.
            pickled.storages[str(key)] = Storage(f"{path}:{key}", position + 8, size // 8)
            position += 8 + size // 8
        self.tensors(pickled)
        if position != end:
            self.survey.faults.append(Fault(path, "", f"{end:,} bytes long, and its storages end at {position:,}"))

    def tensors(self, pickled: Pickled) -> None:
        """Note the storages that are not there, or shorter than what is said to lie in them."""
        wrong = 0
        for name, tensor in torchsave.tensors(pickled.value):
            storage = pickled.storages.get(tensor.storage)
            if storage is None or torchsave.place(pickled.path, name, tensor, storage) is None:
                wrong += 1
                if wrong <= 20:
                    what = "reaches beyond its storage" if storage else "has no storage"
                    self.survey.faults.append(Fault(pickled.path, shown(name), what))

    def array(self, stream: BinaryIO, path: str, at: str, start: int, end: int) -> None:
        """A numpy array of objects holds a pickle behind its header."""
        stream.seek(start + 6)
        version = stream.read(2)
        width = 2 if version[:1] == b"\x01" else 4
        length = int.from_bytes(stream.read(width), "little")
        header = stream.read(min(length, MAX_ARGUMENT))
        if length > MAX_ARGUMENT:
            self.survey.faults.append(Fault(path, at, f"an array with a header of {length:,} bytes"))
        elif b"'|O'" in header or b'"|O"' in header or b"'O'" in header:
            behind = start + 8 + width + length
            self.add(Pickled(path, at, "array", self.followed(stream, behind, end)), end)

    # Archives

    def archives(self, stream: BinaryIO, path: str, end: int) -> None:
        """Every archive of the file, from the last one to the first."""
        while end > 0 and not self.spent(path, f"bytes 0-{end:,}"):
            try:
                archive = read_archive(stream, end)
            except ArchiveError as error:
                self.survey.faults.append(Fault(path, f"bytes 0-{end:,}", str(error)))
                return
            self.operations -= _COST_OF_ARCHIVE + _COST_OF_MEMBER * len(archive.members)
            span = f"bytes {archive.begin:,}-{end:,}"
            self.survey.faults += [Fault(path, span, what) for what in archive.faults[:20]]
            self.members(stream, path, archive)
            end = archive.begin
            if end > 0 and not ends_with_archive(stream, end):
                self.survey.faults.append(Fault(path, f"bytes 0-{end:,}", "other data lies before the archive"))
                self.pickle(stream, path, end, b"")
                return

    def members(self, stream: BinaryIO, path: str, archive: Archive) -> None:
        names = archive.members
        root = next((n.removesuffix("data.pkl") for n in names if n == "data.pkl" or n.endswith("/data.pkl")), None)
        scripted = root is not None and f"{root}constants.pkl" in names
        for member in names.values():
            is_root = root is not None and member.name == f"{root}data.pkl"
            for pickled, end in self.member(stream, path, member, root is not None):
                pickled.scripted = scripted
                if is_root and root is not None:
                    pickled.form = "torch"
                    pickled.section = archive.begin
                    pickled.storages = _storages(path, root, archive)
                self.add(pickled, end)
                self.tensors(pickled)

    def may_be_pickle(self, stream: BinaryIO, member: Member) -> bool:
        """Whether a member can be followed as far as its beginning was read, so that all of it must be."""
        for size in HEAD_SIZES if member.compressed else HEAD_SIZES[:1]:
            head = member_head(stream, member, size)
            reading = self.followed(io.BytesIO(head), 0, len(head))
            if reading.fault is not None and not reading.calls and not (reading.cut and len(head) == size):
                return False
        return True

    def member(self, stream: BinaryIO, path: str, member: Member, torch: bool) -> Iterator[tuple[Pickled, int]]:
        """The pickle that a member holds, with where it must end."""
        name = shown(member.name)
        if self.spent(path, name):
            return
        source, start, end = stream, member.offset, member.offset + member.stored
        strict = member.name.lower().endswith((".pkl", ".pickle"))
        head = member_head(stream, member, 16)
        if head.startswith(_ARCHIVES):
            what = Fault(path, name, "an archive inside the archive, and not opened")
            (self.survey.faults if torch else self.survey.unread).append(what)
            return
        if not strict and not head.startswith(_ARRAY) and not self.may_be_pickle(stream, member):
            return
        if member.compressed or strict:
            try:
                if member.size > self.inflated:
                    raise ArchiveError(f"{member.name[:100]!r} is longer than is unpacked")
                source, start, end = io.BytesIO(member_bytes(stream, member)), 0, member.size
            except ArchiveError as error:
                (self.survey.faults if strict else self.survey.unread).append(Fault(path, name, str(error)))
                return
            self.inflated -= member.size if member.compressed else 0
        if head.startswith(_ARRAY):
            self.array(source, path, name, start, end)
        else:
            reading = self.followed(source, start, end)
            if strict or _is_pickle(reading, end, begins=False):
                yield Pickled(path, name, "member", reading), end


def _begins(head: bytes) -> bool:
    """Whether it begins as pickles of protocol 2 to 5 do."""
    return head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def _is_safetensors(head: bytes, size: int) -> bool:
    """A header of 640 bytes, say, begins like a pickle, too."""
    return int.from_bytes(head[:8], "little") <= size - 8 and head[8:9] == b"{"


def _is_pickle(reading: Reading, end: int, begins: bool) -> bool:
    """Whether what was followed is a pickle and no chance: it begins like one, calls something, or ends in its stop."""
    if begins or reading.calls:
        return True
    complete = reading.fault is None and not reading.too_long
    return (complete and (reading.end == end or bool(reading.uses))) or (reading.too_long and reading.operations > 1000)


def _storages(path: str, root: str, archive: Archive) -> dict[str, Storage]:
    prefix = f"{root}data/"
    return {
        name.removeprefix(prefix): Storage(f"{path}:{archive.begin}:{name[:120]}", member.offset, member.stored)
        for name, member in archive.members.items()
        if name.startswith(prefix) and not member.compressed
    }
