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


@dataclass(frozen=True)
class Manifest:
    """A manifest file: hex digests by relative path, and the lines that are none."""

    path: str
    digests: Mapping[str, str]
    malformed: tuple[int, ...] = ()


def read_manifest(folder: Folder) -> Manifest | None:
    """The manifest of the folder; None if it has none that can be read."""
    for path in NAMES:
        try:
            text = folder.read(path, _MAX_BYTES).decode("utf-8", "replace")
        except UnreadableError:
            continue
        digests, malformed = {}, []
        for number, line in enumerate(text.splitlines(), 1):
            match = _LINE.match(line)
            if match:
                digests[match[2].removeprefix("./")] = match[1].lower()
            elif line.strip() and not line.startswith("#"):
                malformed.append(number)
        if digests:
            return Manifest(path, digests, tuple(malformed))
    return None


def may_be_unlisted(path: str, manifest: str) -> bool:
    """Whether a file needs no line in the manifest."""
    return path == manifest or path in NAMES or _BESIDE.search(path) is not None
