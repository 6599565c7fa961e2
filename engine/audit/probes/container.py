"""Group container: are the weight files whole, do they keep to their format, and do index and files agree?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from engine.audit.documents import shown
from engine.audit.ledger import Place
from engine.audit.probes.formats import state_formats
from engine.audit.safetensors import Fault, Header

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.folder import Entry
    from engine.audit.ledger import Ledger

MAX_POINTER_BYTES = 1024
WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack")
_POINTER = b"version https://git-lfs.github.com/spec/"
_SHARD = re.compile(r"^(.*)-(\d{1,6})-of-(\d{1,6})\.(safetensors|bin|pt|pth|gguf)$")
_FORMATS = ("pt", "tf", "flax", "mlx")  # what transformers 4.31 to 5 loads; older ones fail where nothing is said
_ROTARY = re.compile(r"rotary_emb\.(inv_freq|(cos|sin)_cached)$")
# Which fault of a header each fact counts.
_OF_HEADERS: dict[str, Fault] = {
    "bad_header_length": "length",
    "bad_header_json": "json",
    "stray_whitespace": "whitespace",
    "repeated_names": "duplicate",
    "holes_and_overlaps": "contiguous",
    "bad_extents": "extent",
    "bad_file_length": "file_length",
}


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the containers show."""
    pointers = {entry.path for entry in checkpoint.folder.files() if is_pointer(checkpoint, entry)}
    first = sorted(pointers, key=lambda path: (not path.endswith(WEIGHT_SUFFIXES), path))
    ledger.count(
        "audit.container.pointers",
        (Place(path, "bytes 0-40", "a git-lfs pointer", "the file it points to", "format") for path in first),
    )
    headers = {path: header for path, header in checkpoint.headers.items() if path not in pointers}
    _faults(headers, pointers, ledger)
    _frameworks(checkpoint, headers, ledger)
    ledger.fact("audit.container.gguf_files", float(len(checkpoint.gguf)))
    _gguf(checkpoint, ledger)
    ledger.count("audit.container.escapes", _escapes(checkpoint))
    ledger.fact("audit.container.indexed", checkpoint.index is not None)
    if checkpoint.index is not None:
        _index(checkpoint, headers, ledger)
    _shards(checkpoint, ledger)
    state_formats(checkpoint, ledger)
    if checkpoint.folder.truncated:
        _truncated(ledger)


def _truncated(ledger: Ledger) -> None:
    """Take back that nothing is wrong: not every file was listed."""
    for name in ("pointers", "escapes", "missing_files", "shard_gaps", "unreferenced", "formats_differ", *_OF_HEADERS):
        if ledger.value(f"audit.container.{name}") == 0:
            del ledger.seen[f"audit.container.{name}"]
            ledger.unknown(
                f"audit.container.{name}", "The folder has more files than are looked at.", "目录中的文件超过检查上限。"
            )


def is_pointer(checkpoint: Checkpoint, entry: Entry) -> bool:
    """Whether a file is the short text that git-lfs puts in the place of a large file."""
    return entry.size < MAX_POINTER_BYTES and checkpoint.folder.head(entry.path, 64).startswith(_POINTER)


def _faults(headers: dict[str, Header], pointers: set[str], ledger: Ledger) -> None:
    absent = sorted(path for path in pointers if path.endswith(".safetensors"))
    ledger.fact("audit.container.safetensors_files", float(len(headers) + len(absent)))
    unread = [header.path for header in headers.values() if not header.listed]
    for name, fault in _OF_HEADERS.items():
        fact = f"audit.container.{name}"
        total = sum(header.counts.get(fault, 0) for header in headers.values())
        blind = absent + [path for path in unread if fault not in headers[path].counts]
        if total or not blind:
            places = [
                Place(header.path, f.at, f.observed, f.expected, "format")
                for header in headers.values()
                for f in header.faults
                if f.fault == fault
            ]
            ledger.fact(fact, float(total), places)
        else:
            names = shown(", ".join(blind[:3]))
            if blind[0] in absent:
                ledger.unknown(fact, f"{names}: a git-lfs pointer is all there is.", f"{names} 只是 git-lfs 指针。")
            else:
                ledger.unknown(fact, f"The header of {names} cannot be read.", f"无法读取 {names} 的文件头。")


def _frameworks(checkpoint: Checkpoint, headers: dict[str, Header], ledger: Ledger) -> None:
    """Whether the headers say which library wrote the tensors, as transformers asks of the weights it loads."""
    read = [headers[path] for path in checkpoint.weight_files if path in headers and headers[path].listed]
    ledger.fact("audit.container.for_transformers", bool(read) and checkpoint.architecture is not None)
    wrong = [(header, header.metadata.get("format")) for header in read if header.metadata]
    bare = [(header, None) for header in read if not header.metadata]
    odd = [(header, found) for header, found in wrong if found not in _FORMATS]
    ledger.fact("audit.container.other_format", bool(odd))
    ledger.count(
        "audit.container.format_unnamed",
        (
            Place(header.path, "__metadata__.format", shown(found or "not set"), "pt", "format")
            for header, found in (*odd, *bare)
        ),
    )


def _gguf(checkpoint: Checkpoint, ledger: Ledger) -> None:
    places = [
        Place(header.path, fault.at, fault.observed, fault.expected, "format")
        for header in checkpoint.gguf.values()
        for fault in header.faults
    ]
    newer = [header for header in checkpoint.gguf.values() if header.newer]
    if places or not newer:
        ledger.count("audit.container.bad_gguf", places)
    else:
        ledger.unknown(
            "audit.container.bad_gguf",
            f"{newer[0].path}: {newer[0].newer}.",
            f"{newer[0].path} 使用了本审计不认识的格式版本或类型。",
        )


def _escapes(checkpoint: Checkpoint) -> Iterator[Place]:
    """Names that lead out of the folder, are another spelling of a name, or are no files at all."""
    for entry in checkpoint.folder.entries.values():
        if entry.kind == "link":
            yield Place(entry.path, "", f"a link to {shown(entry.target)}", "a file of the folder", "format")
        elif entry.kind == "special":
            yield Place(entry.path, "", "a pipe, socket or device", "a regular file", "format")
    if checkpoint.index is not None:
        for name in dict.fromkeys(checkpoint.weight_map.values()):
            if not _is_plain(name):
                yield Place(checkpoint.index.path, "weight_map", shown(name), "a plain name in the folder", "format")


def _is_plain(name: str) -> bool:
    parts = name.split("/")
    outside = "\\" in name or "\0" in name or re.match(r"[A-Za-z]:", name)
    return not outside and all(part not in ("", ".", "..") for part in parts)


def _index(checkpoint: Checkpoint, headers: dict[str, Header], ledger: Ledger) -> None:
    index = checkpoint.index
    assert index is not None
    if index.problem is not None or not checkpoint.weight_map:
        reason = shown(index.problem or "no weight_map")
        place = Place(index.path, "", reason, "a JSON object with a weight_map", "format")
        ledger.count("audit.container.index_differs", [place])
        for fact in ("missing_files", "size_difference"):
            ledger.unknown(
                f"audit.container.{fact}", f"{index.path}: {reason}.", f"{index.path} 无法使用（{reason}）。"
            )
        return
    named = [name for name in dict.fromkeys(checkpoint.weight_map.values()) if _is_plain(name)]
    absent = [name for name in sorted(named) if checkpoint.folder.entries.get(name) is None]
    where = Place(index.path, "weight_map")
    ledger.count(
        "audit.container.missing_files",
        (Place(where.file, where.at, f"{shown(name)} is not there", shown(name), "index") for name in absent),
    )
    pickled = {tensor.file for tensor in checkpoint.tensors.values()} if not headers else set[str]()
    if any(name in headers and headers[name].listed for name in named):
        ledger.count("audit.container.index_differs", _differences(checkpoint, headers, set(named)))
    elif pickled & set(named):
        ledger.count("audit.container.index_differs", _pickled_differences(checkpoint, pickled & set(named)))
    else:
        ledger.unknown(
            "audit.container.index_differs",
            "No file that the index names can be read.",
            "索引列出的文件都无法读取。",
        )
    _total_size(checkpoint, headers, named, ledger)


def _differences(checkpoint: Checkpoint, headers: dict[str, Header], named: set[str]) -> Iterator[Place]:
    """Tensors for which index and headers disagree; files that cannot be read say nothing."""
    assert checkpoint.index is not None
    path, weight_map = checkpoint.index.path, checkpoint.weight_map
    readable = {name for name in named if name in headers and headers[name].listed}
    stored: dict[str, set[str]] = defaultdict(set)
    for name in readable:
        for tensor in headers[name].declared:
            stored[tensor.name].add(name)
    for tensor_name, file in weight_map.items():
        if file in readable and file not in stored.get(tensor_name, ()):
            elsewhere = ", ".join(sorted(stored.get(tensor_name, ()))) or "in no file"
            yield Place(path, f"weight_map.{shown(tensor_name)}", shown(file), shown(elsewhere), "header")
    for tensor_name, files in stored.items():
        if tensor_name not in weight_map and not _ROTARY.search(tensor_name):
            yield Place(path, "weight_map", f"no {shown(tensor_name)}", f"it is in {shown(min(files))}", "header")


def _pickled_differences(checkpoint: Checkpoint, files: set[str]) -> Iterator[Place]:
    assert checkpoint.index is not None
    for name, file in checkpoint.weight_map.items():
        tensor = checkpoint.tensors.get(name)
        if file in files and (tensor is None or tensor.file != file):
            there = tensor.file if tensor else "in no file"
            yield Place(checkpoint.index.path, f"weight_map.{shown(name)}", shown(file), there, "header")


def _total_size(checkpoint: Checkpoint, headers: dict[str, Header], named: list[str], ledger: Ledger) -> None:
    """How far ``metadata.total_size`` is from the bytes of the tensors, as a share. Tied tensors may count twice."""
    assert checkpoint.index is not None
    fact, path = "audit.container.size_difference", checkpoint.index.path
    metadata = checkpoint.index.mapping.get("metadata")
    declared = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(declared, bool) or not isinstance(declared, int | float) or not 0 < declared < 1e18:
        ledger.unknown(fact, f"{path} states no total_size.", f"{path} 没有 total_size。")
        return
    if not all(name in headers and headers[name].listed for name in named):
        ledger.unknown(fact, "Not every file of the index can be read.", "索引中的文件并非都可读。")
        return
    stored = sum(tensor.nbytes for name in named for tensor in headers[name].declared)
    twice = _tied_bytes(checkpoint)
    nearest = min((stored, stored + twice), key=lambda size: abs(size - declared))
    place = Place(path, "metadata.total_size", f"{declared:,.0f}", f"{stored:,}", "header")
    ledger.fact(fact, abs(nearest - declared) / max(nearest, 1), [place])


def _tied_bytes(checkpoint: Checkpoint) -> int:
    """Bytes of the token vectors, which some writers count once more as the tied head."""
    sizes = (t.nbytes for name, t in checkpoint.named.items() if name.endswith(("embed_tokens.weight", "wte.weight")))
    return next(sizes, 0)


def _shards(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Numbers that are missing in sets of shards, sets of one stem that do not belong together, and a missing index."""
    sets: dict[tuple[str, str], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for entry in checkpoint.folder.files(*WEIGHT_SUFFIXES):
        if match := _SHARD.match(entry.path):
            stem, number, total, suffix = match.groups()
            sets[stem, suffix][int(total)].add(int(number))
    found: list[Place] = []
    for (stem, suffix), totals in sets.items():
        if len(totals) > 1:
            counts = ", ".join(f"-of-{total:05d}" for total in sorted(totals))
            found.append(Place(f"{shown(stem)}-*.{suffix}", "file names", f"sets {shown(counts)}", "one set", "format"))
        found += _missing_numbers(shown(stem), suffix, totals)
    ledger.fact("audit.container.sharded", bool(sets))
    ledger.count("audit.container.shard_gaps", found)
    if checkpoint.index is None and sets:
        # Loaders find the shards of these two stems by the index alone.
        stems = sorted(f"{stem}.{suffix}" for stem, suffix in sets if stem in ("model", "pytorch_model"))
        names = [f"{stem}.index.json" for stem in stems if stem not in checkpoint.folder]
        places = (Place(name, "", "is not there", "the index of the shards", "format") for name in names)
        ledger.count("audit.container.missing_files", places)


def _missing_numbers(stem: str, suffix: str, totals: dict[int, set[int]]) -> Iterable[Place]:
    for total, numbers in totals.items():
        # Some writers count from zero; a number too many is as wrong as one too few.
        first = 0 if 0 in numbers else 1
        gap = [n for n in range(first, min(total, 100_000) + first) if n not in numbers]
        over = sorted(number for number in numbers if number >= total + first)
        if gap or over:
            expected = f"{stem}-{(gap or over)[0]:05d}-of-{total:05d}.{suffix}"
            observed = f"{len(gap)} of {total} missing" if gap else f"a number above {total}"
            yield Place(f"{stem}-*-of-{total:05d}.{suffix}", "file names", observed, expected, "format")
