"""Zip archives, read by their central directory and held against the local headers.

Readers of such a file do not all look at the same of the two, and a scanner that looks at the other one can be led
astray; so every difference between them is a fault. Nothing is extracted. Source: the format's APPNOTE 6.3.10.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from typing import BinaryIO

MAX_MEMBERS = 100_000
MAX_DIRECTORY = 64 << 20
MAX_INFLATED = 64 << 20
LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_END64, _LOCATOR = b"PK\x06\x06", b"PK\x06\x07"
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1 | 1 << 6 | 1 << 13
_STREAMED = 1 << 3


class ArchiveError(Exception):
    """An archive that cannot be listed; the message says why, for people."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive. ``offset`` and ``stored`` are of its bytes as they lie, from the start of the file."""

    name: str
    offset: int
    stored: int
    size: int
    compressed: bool
    crc: int


@dataclass
class Archive:
    """One archive that fills ``begin`` to ``end`` of its file."""

    begin: int
    end: int
    members: dict[str, Member] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def ends_with_archive(stream: BinaryIO, end: int) -> bool:
    """Whether an archive without a comment ends at ``end``; writers of weights never add one."""
    if end < 22:
        return False
    stream.seek(end - 22)
    tail = stream.read(22)
    return tail[:4] == _END and tail[20:] == b"\0\0"


def read_archive(stream: BinaryIO, end: int) -> Archive:
    """The archive that ends at ``end``. What lies before it in the file is not looked at.

    Raises:
        ArchiveError: if its directory cannot be found or is larger than is read.
    """
    count, size, offset, directory_end = _directory(stream, end)
    start = directory_end - size
    begin = start - offset
    if size > MAX_DIRECTORY or count > MAX_MEMBERS:
        raise ArchiveError(f"a directory of {count:,} members in {size:,} bytes is longer than is read")
    if start < 0 or begin < 0:
        raise ArchiveError("the directory lies outside the file")
    archive = Archive(begin, end)
    stream.seek(start)
    raw = stream.read(size)
    position, spans = 0, []
    while position < len(raw):
        position, entry = _entry(raw, position, begin)
        spans.append(_checked(stream, entry, start, archive))
    if len(spans) != count:
        archive.faults.append(f"the directory has {len(spans):,} members and says {count:,}")
    _overlaps(spans, archive)
    return archive


def member_bytes(stream: BinaryIO, member: Member, limit: int = MAX_INFLATED) -> bytes:
    """The content of a member.

    Raises:
        ArchiveError: if it is longer than ``limit``, damaged, or not as long as it says.
    """
    stream.seek(member.offset)
    if member.size > limit or member.stored > limit:
        raise ArchiveError(f"{member.name[:100]!r} is longer than {limit:,} bytes")
    data = stream.read(member.stored)
    if member.compressed:
        try:
            inflater = zlib.decompressobj(-15)
            data = inflater.decompress(data, limit + 1)
        except zlib.error as error:
            raise ArchiveError(f"{member.name[:100]!r} cannot be inflated: {error}") from None
        if len(data) > limit or inflater.unconsumed_tail or not inflater.eof:
            raise ArchiveError(f"{member.name[:100]!r} does not end where it says")
    if len(data) != member.size:
        raise ArchiveError(f"{member.name[:100]!r} has {len(data):,} bytes and says {member.size:,}")
    # A writer may leave the checksum out (torch.serialization.set_crc32_options): zero says nothing.
    if member.crc and zlib.crc32(data) != member.crc:
        raise ArchiveError(f"the checksum of {member.name[:100]!r} does not match its bytes")
    return data


def member_head(stream: BinaryIO, member: Member, size: int) -> bytes:
    """The first bytes of a member; fewer if it is shorter or damaged."""
    stream.seek(member.offset)
    data = stream.read(min(member.stored, size))
    if member.compressed:
        try:
            data = zlib.decompressobj(-15).decompress(data, size)
        except zlib.error:
            return b""
    return data


def _directory(stream: BinaryIO, end: int) -> tuple[int, int, int, int]:
    """Number of members, size and offset of the directory, and where it ends in the file."""
    if not ends_with_archive(stream, end):
        raise ArchiveError("the archive has no end record where it should end")
    stream.seek(end - 22)
    _, disk, first, here, count, size, offset, _ = struct.unpack("<4s4H2LH", stream.read(22))
    if disk or first or here != count:
        raise ArchiveError("the archive is spread over several files")
    if end < 98:
        return count, size, offset, end - 22
    stream.seek(end - 42)
    locator = stream.read(20)
    if locator[:4] != _LOCATOR:
        return count, size, offset, end - 22
    stream.seek(end - 98)
    record = struct.unpack("<4sQ2H2L4Q", stream.read(56))
    if record[0] != _END64 or record[6] != record[7]:
        raise ArchiveError("the 64-bit end record is not where it should be")
    if any(old not in (new, most) for old, new, most in zip(
        (count, size, offset), record[7:], (0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF), strict=True
    )):  # fmt: skip
        raise ArchiveError("the two end records contradict each other")
    return record[7], record[8], record[9], end - 98


@dataclass(frozen=True, slots=True)
class _Entry:
    name: bytes
    flags: int
    method: int
    crc: int
    stored: int
    size: int
    header: int


def _entry(raw: bytes, position: int, begin: int) -> tuple[int, _Entry]:
    """One member as the directory has it, and the position behind it."""
    if len(raw) - position < 46 or raw[position : position + 4] != _CENTRAL:
        raise ArchiveError(f"the directory is broken at its byte {position:,}")
    fields = struct.unpack_from("<4s6H3L5H2L", raw, position)
    flags, method, crc, stored, size = fields[3], fields[4], fields[7], fields[8], fields[9]
    name_length, extra_length, comment_length, header = fields[10], fields[11], fields[12], fields[16]
    behind = position + 46 + name_length
    name, extra = raw[position + 46 : behind], raw[behind : behind + extra_length]
    wide = _wide(extra)
    # The 64-bit numbers stand in this order, and only those that the short fields have no room for.
    size, stored, header = (wide.pop(0) if wide and n == 0xFFFFFFFF else n for n in (size, stored, header))
    entry = _Entry(name, flags, method, crc, stored, size, begin + header)
    return behind + extra_length + comment_length, entry


def _wide(extra: bytes) -> list[int]:
    """The 64-bit numbers among the extra fields."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, position)
        if kind == 1:
            body = extra[position + 4 : position + 4 + length]
            return [int.from_bytes(body[i : i + 8], "little") for i in range(0, len(body) - 7, 8)]
        position += 4 + length
    return []


def _checked(stream: BinaryIO, entry: _Entry, limit: int, archive: Archive) -> tuple[int, int]:
    """Hold a member of the directory against its local header; returns the bytes that both take up."""
    name = entry.name.decode("utf-8", "replace")
    shown = f"{name[:100]!r}"
    stream.seek(min(entry.header, limit))
    local = stream.read(30)
    if entry.header < archive.begin or len(local) < 30 or local[:4] != LOCAL:
        archive.faults.append(f"{shown} has no header of its own")
        return entry.header, entry.header
    fields = struct.unpack("<4s5H3L2H", local)
    flags, method, sizes = fields[2], fields[3], fields[7:9]
    offset = entry.header + 30 + fields[9] + fields[10]
    if stream.read(fields[9]) != entry.name:
        archive.faults.append(f"{shown} has another name in its own header")
    if (flags | entry.flags) & _ENCRYPTED:
        archive.faults.append(f"{shown} says that it is encrypted")
    if method != entry.method or entry.method not in (_STORED, _DEFLATED):
        archive.faults.append(f"{shown} is packed by method {entry.method} or {method}, not stored or deflated")
    if not flags & _STREAMED and 0xFFFFFFFF not in sizes and sizes != (entry.stored, entry.size):
        archive.faults.append(f"{shown} has two sizes")
    if entry.method == _STORED and entry.stored != entry.size:
        archive.faults.append(f"{shown} is stored and has two sizes")
    if offset + entry.stored > limit:
        archive.faults.append(f"{shown} reaches into the directory")
    elif name in archive.members:
        archive.faults.append(f"{shown} stands twice")
    else:
        archive.members[name] = Member(name, offset, entry.stored, entry.size, entry.method == _DEFLATED, entry.crc)
    if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/") or "\0" in name:
        archive.faults.append(f"{shown} leads out of the folder it is unpacked in")
    return entry.header, offset + entry.stored


def _overlaps(spans: list[tuple[int, int]], archive: Archive) -> None:
    end = archive.begin
    for start, stop in sorted(spans):
        if start < end:
            archive.faults.append(f"two members share the bytes from {start:,} on")
        end = max(end, stop)
