"""The hash manifest of a checkpoint: one line a file, as ``sha256sum`` writes and checks it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.audit.folder import Folder, UnreadableError

NAMES = ("SHA256SUMS", "SHA256SUMS.txt", "sha256sums.txt", "checksums.sha256", "checksums.txt")
# What may lie beside a manifest that was written before it: the manifest itself, and its signature.
_BESIDE = re.compile(r"(^|/)(\.git(attributes|ignore)|[^/]*\.(sig|asc|sigstore|intoto\.jsonl?|dsse\.json))$")
_LINE = re.compile(r"^\\?([0-9a-fA-F]{64}) [ *](.+)$")
_MAX_BYTES = 64 << 20
_MAX_MALFORMED = 100


@dataclass(frozen=True)
class Manifest:
    """A manifest file: hex digests by relative path, the first lines that are none, and why it cannot be read."""

    path: str
    digests: Mapping[str, str]
    malformed: tuple[int, ...] = ()
    problem: str | None = None


def read_manifest(folder: Folder) -> Manifest | None:
    """The manifest of the folder: of several the first that lists a file; None if there is no file of these names."""
    found = [_read(folder, path) for path in NAMES if path in folder]
    return next((one for one in found if one.digests), found[0] if found else None)


def _read(folder: Folder, path: str) -> Manifest:
    try:
        text = folder.read(path, _MAX_BYTES).decode("utf-8", "replace")
    except UnreadableError as error:
        return Manifest(path, {}, problem=str(error))
    digests, malformed = dict[str, str](), list[int]()
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.match(line)
        if match:
            digests[match[2].removeprefix("./")] = match[1].lower()
        elif line.strip() and not line.startswith("#") and len(malformed) < _MAX_MALFORMED:
            malformed.append(number)
    return Manifest(path, digests, tuple(malformed))


def may_be_unlisted(path: str, manifest: str) -> bool:
    """Whether a file needs no line in the manifest."""
    return path == manifest or path in NAMES or _BESIDE.search(path) is not None
