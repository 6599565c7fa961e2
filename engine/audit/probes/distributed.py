"""Sharded training state: whether every rank's part of it is there, and whether the weights beside it are its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.audit.documents import shown
from engine.audit.folder import UnreadableError
from engine.audit.ledger import Ledger, Place
from engine.audit.pickles import dcp, deepspeed, torch_tensors
from engine.audit.pickles.torchsave import weights

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.pickles.deepspeed import Tag
    from engine.audit.pickles.survey import Survey
    from engine.audit.tensors import TensorInfo

_TAG_NAME = re.compile(r"global_step\d+")
_COMPARED, _COMPARED_BYTES = 64, 1 << 16


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what DeepSpeed and torch.distributed.checkpoint left, and how complete it is."""
    survey = checkpoint.pickles
    tags = deepspeed.tags(checkpoint.folder, survey)
    latest = _latest_files(checkpoint, tags)
    shards = sorted({entry.path.rpartition("/")[0] for entry in checkpoint.folder.files(".distcp")})
    metadata = {
        entry.path.rpartition("/")[0]: entry.path
        for entry in checkpoint.folder.files()
        if entry.name == dcp.NAME and (entry.path.rpartition("/")[0] in shards or survey.of(entry.path))
    }
    ledger.fact("audit.distributed.deepspeed", bool(tags or latest))
    ledger.fact("audit.distributed.optimizer_shards", any(tag.optimizer for tag in tags))
    ledger.fact("audit.distributed.dcp", bool(shards or metadata))
    _deepspeed(ledger, survey, tags)
    _latest(ledger, latest, tags)
    ledger.count(
        "audit.distributed.missing_metadata",
        [Place(f"{where}/{dcp.NAME}".lstrip("/"), "", "absent", "present", "format") for where in shards
         if where not in metadata],
    )  # fmt: skip
    _extents(checkpoint, ledger, survey, metadata)
    _consolidated(checkpoint, ledger, survey, tags, [*shards, *metadata])


# DeepSpeed


def _deepspeed(ledger: Ledger, survey: Survey, tags: list[Tag]) -> None:
    if any(tag.optimizer and tag.ranks is None for tag in tags):
        ledger.unknown(
            "audit.distributed.wrong_rank_files",
            "No optimizer file says how many ranks there were.",
            "没有任何优化器文件说明共有多少个 rank。",
        )
    else:
        ledger.count("audit.distributed.wrong_rank_files", [place for tag in tags for place in _ranks(tag)])
    broken = {fault.path: fault for fault in reversed(survey.faults)}
    ledger.count(
        "audit.distributed.wrong_model_states",
        [place for tag in tags for place in _models(tag)]
        + [
            Place(path, broken[path].at, broken[path].what, "a whole file", "format")
            for tag in tags
            for path in tag.files
            if path in broken
        ],
    )


def _ranks(tag: Tag) -> Iterable[Place]:
    for name in tag.missing_optimizer():
        yield Place(tag.path, name, "absent", f"a file for each of {tag.ranks} ranks", "metadata")
    for path in tag.surplus_optimizer():
        yield Place(path, "", "a file of a rank that was not there", f"{tag.ranks} ranks", "metadata")
    for path, count in tag.partitions.items():
        if count != tag.ranks:
            yield Place(path, "partition_count", str(count), str(tag.ranks), "metadata")
    for path, stage in tag.stages.items():
        if stage != tag.stage:
            yield Place(path, "zero_stage", str(stage), str(tag.stage), "metadata")


def _models(tag: Tag) -> Iterable[Place]:
    for name in tag.missing_model():
        yield Place(tag.path, name, "absent", f"present at ZeRO stage {tag.stage}", "format")


def _latest_files(checkpoint: Checkpoint, tags: list[Tag]) -> dict[str, str]:
    """The tag that each ``latest`` file names, by its path; other files of that name say nothing of a tag."""
    parents = {tag.path.rpartition("/")[0] for tag in tags}
    found = {}
    for entry in checkpoint.folder.files():
        if entry.name == "latest" and entry.size <= 1024:
            name = checkpoint.folder.head(entry.path, 1024).decode("utf-8", "replace").strip()
            if entry.path.rpartition("/")[0] in parents or _TAG_NAME.fullmatch(name):
                found[entry.path] = name
    return found


def _latest(ledger: Ledger, latest: dict[str, str], tags: list[Tag]) -> None:
    if tags and not latest:
        ledger.unknown(
            "audit.distributed.wrong_latest",
            "There is no file named latest that names the state to load.",
            "没有名为 latest 的文件来指明应加载的状态。",
        )
        return
    known = {tag.path: tag for tag in tags}
    places = []
    for path, name in latest.items():
        where = path.rpartition("/")[0]
        tag = known.get(f"{where}/{name}".lstrip("/"))
        if tag is None:
            places.append(Place(path, "", f"{shown(name)}, which is not there", "a folder with the state", "format"))
            continue
        newer = [
            other
            for other in tags
            if other.path.rpartition("/")[0] == where and other.complete and (other.step or 0) > (tag.step or 0)
        ]
        if newer and tag.step is not None:
            newest = max(newer, key=lambda other: other.step or 0)
            places.append(Place(path, "", shown(name), newest.path.rpartition("/")[2], "format"))
    ledger.count("audit.distributed.wrong_latest", places)


# torch.distributed.checkpoint


def _extents(checkpoint: Checkpoint, ledger: Ledger, survey: Survey, metadata: dict[str, str]) -> None:
    places: list[Place] = []
    for where, path in metadata.items():
        pickled = next(iter(survey.of(path)), None)
        found = dcp.layout(pickled.value) if pickled else None
        if found is None:
            ledger.unknown(
                "audit.distributed.wrong_extents",
                f"{path} cannot be read as metadata of a known version.",
                f"{path} 无法按已知版本的元数据读取。",
            )
            return
        for shard, needed in found.needed().items():
            places += _shard(checkpoint, f"{where}/{shard}".lstrip("/"), needed)
        places += [
            Place(path, shown(name), what, "each element once", "metadata") for name, what in found.badly_tiled()
        ]
        places += [
            Place(path, shown(name), f"the piece at {list(offset)} lies in no file", "a place in a file", "metadata")
            for name, offset in found.without_place()
        ]
    ledger.count("audit.distributed.wrong_extents", places)


def _shard(checkpoint: Checkpoint, path: str, needed: int) -> Iterable[Place]:
    if ".." in path.split("/") or path not in checkpoint.folder:
        yield Place(shown(path, 200), "", "absent", f"at least {needed:,} bytes", "metadata")
    elif (size := checkpoint.folder.entries[path].size) < needed:
        yield Place(path, f"bytes {size:,}-{needed:,}", f"{size:,} bytes", f"at least {needed:,} bytes", "metadata")


# The weights beside the state


def _consolidated(checkpoint: Checkpoint, ledger: Ledger, survey: Survey, tags: list[Tag], others: list[str]) -> None:
    """Whether whole weights are there, and whether they are of the last state: by bytes where both can be compared."""
    state = {path for tag in tags for path in tag.files}
    folders = tuple(f"{where}/" if where else "" for where in others)
    whole = [t for header in checkpoint.headers.values() for t in header.tensors]
    whole += [t for t in torch_tensors(checkpoint.folder, survey) if t.file not in state]
    ledger.fact("audit.distributed.sharded_state", bool(tags or others))
    only = [] if whole else [tag.path for tag in tags] + others
    ledger.fact(
        "audit.distributed.consolidated",
        bool(whole),
        [
            Place(where or ".", "", "shards of training state only", "whole weights beside them", "format")
            for where in only
        ],
    )
    if not whole or not (tags or others):
        return
    last = max(tags, key=lambda tag: (tag.step or 0, tag.path), default=None)
    files = last.files if last else [e.path for e in checkpoint.folder.files() if e.path.startswith(folders)]
    content, place = _content(checkpoint, survey, last, whole)
    ledger.fact("audit.distributed.consolidated_content", content, [place] if place else [])
    entries = checkpoint.folder.entries
    newest = max(entries[path].mtime_ns for path in {t.file for t in whole})
    saved = min((entries[path].mtime_ns for path in files), default=newest)
    hours = max(0.0, (saved - newest) / 3.6e12)
    ledger.fact(
        "audit.distributed.consolidated_older_hours",
        round(hours, 3),
        [Place(whole[0].file, "", f"written {hours:.1f} hours before {files[0]}", "not before it", "training")]
        if hours and files else [],
    )  # fmt: skip


def _content(
    checkpoint: Checkpoint, survey: Survey, tag: Tag | None, whole: list[TensorInfo]
) -> tuple[str, Place | None]:
    """Compare the beginnings of the tensors of both; below ZeRO-3 the state holds whole weights.

    Only weights in the folder that the state lies in are held against it: others may be of a later step on purpose.
    """
    if tag is None or set(tag.model) != {(0, None)}:
        return "not_comparable", None
    path, where = tag.model[0, None], tag.path.rpartition("/")[0]
    saved = {t.name: t for pickled in survey.of(path) for t in pickled.tensors(weights(pickled.value))}
    same = 0
    for tensor in whole:
        other = saved.get(tensor.name)
        if other is None or tensor.file.rpartition("/")[0] != where or not _alike(tensor, other):
            continue
        if _beginning(checkpoint, tensor) != _beginning(checkpoint, other):
            return "differs", Place(tensor.file, shown(tensor.name), "other numbers", f"those of {path}", "training")
        same += 1
        if same == _COMPARED:
            break
    return ("same" if same else "not_comparable"), None


def _alike(tensor: TensorInfo, other: TensorInfo) -> bool:
    return (tensor.dtype, tensor.shape, tensor.nbytes) == (other.dtype, other.shape, other.nbytes)


def _beginning(checkpoint: Checkpoint, tensor: TensorInfo) -> bytes:
    try:
        with checkpoint.folder.open(tensor.file) as stream:
            stream.seek(tensor.offset)
            return stream.read(min(tensor.nbytes, _COMPARED_BYTES)) or b""
    except (UnreadableError, OSError):
        return b""
