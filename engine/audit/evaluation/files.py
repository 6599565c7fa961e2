"""Files of evidence that the intent or the command line names: found, bounded, never followed elsewhere."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.audit.checkpoint import Checkpoint
from engine.audit.folder import Entry, Folder, UnreadableError
from engine.model.base import Text

MAX_DOCUMENT_BYTES = 64 << 20
MAX_LINES_BYTES = 512 << 20
MAX_LINE_BYTES = 4 << 20
MAX_ROWS = 1_000_000


_RESULTS = Text(
    en="a results file of lm-evaluation-harness, or a folder of MTEB results",
    zh="lm-evaluation-harness 的结果文件或 MTEB 结果目录",
)
_LOG = Text(en="the log or metrics file of that run", zh="该次运行的日志或指标文件")
_TEXTS = Text(en="JSON lines or a text with the documents", zh="包含文档的 JSON lines 或文本文件")
_HOLDS: Mapping[str, Text] = MappingProxyType({
    "candidate": _RESULTS,
    "baseline": Text(
        en=f"{_RESULTS.en}, of the checkpoint that this one is compared with",
        zh=f"用于对比的检查点的{_RESULTS.zh}",
    ),
    "candidate_samples": Text(en="the samples_*.jsonl of the harness", zh="评测工具的 samples_*.jsonl"),
    "baseline_samples": Text(en="the samples_*.jsonl of the harness", zh="评测工具的 samples_*.jsonl"),
    "generations": Text(
        en="JSON lines, each with `output` and `finish_reason` (or `new_tokens` and `max_new_tokens`)",
        zh="JSON lines，每行含 `output` 与 `finish_reason`（或 `new_tokens` 与 `max_new_tokens`）",
    ),
    "failure_set": Text(
        en="JSON lines, each with `id`, `baseline_pass` and `candidate_pass` (or `query`, `baseline_rank` and "
        "`candidate_rank`)",
        zh="JSON lines，每行含 `id`、`baseline_pass` 与 `candidate_pass`"
        "（或 `query`、`baseline_rank` 与 `candidate_rank`）",
    ),
    "trainer_state": Text(en="trainer_state.json of the run", zh="该次训练的 trainer_state.json"),
    "training_data": _TEXTS,
    "eval_documents": _TEXTS,
    "single_batch_overfit": _LOG,
    "small_run": _LOG,
    "scale_up": _LOG,
})  # fmt: skip


class NoEvidenceError(Exception):
    """Evidence that was not given, or cannot be used: ``text`` says which and why, ``wanted`` what to add."""

    def __init__(self, text: Text, wanted: Text | None = None) -> None:
        super().__init__(text.en)
        self.text = text
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class Bundle:
    """The files of one piece of evidence: one, or all of a folder. ``name`` is what it was called by."""

    name: str
    folder: Folder
    single: str | None = None

    @property
    def paths(self) -> list[str]:
        """Paths for :meth:`read`, sorted."""
        return [self.single] if self.single else [entry.path for entry in self.folder.files()]

    def label(self, path: str) -> str:
        """How a file is named in answers."""
        return self.name if self.single else f"{self.name}/{path}"

    def read(self, path: str, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
        """The content.

        Raises:
            UnreadableError: if it cannot be read or is longer than ``limit`` bytes.
        """
        return self.folder.read(path, limit)


def declared(checkpoint: Checkpoint, name: str | None, key: str, given: Path | None = None) -> Bundle:
    """The evidence under ``evidence.<key>`` or ``stages.<key>`` of the intent, else what the command line gave.

    Raises:
        NoEvidenceError: if nothing was named, or what was named is not there.
    """
    if name is None:
        if given is None:
            raise NoEvidenceError(
                Text(en=f"The intent names no file under {key}.", zh=f"意图文件未在 {key} 下给出文件。"), _wanted(key)
            )
        return _bundle(given.name or str(given), given)
    try:
        path = checkpoint.declared(name)
    except UnreadableError as error:
        raise NoEvidenceError(Text(en=f"{key}: {error}.", zh=f"{key}：{name!r} 指向意图文件所在目录之外。")) from None
    if path is None:
        missing = Text(en=f"{key} names {name!r}, which is not there.", zh=f"{key} 指向的 {name!r} 不存在。")
        raise NoEvidenceError(missing, _wanted(key))
    return _bundle(name, path)


def _wanted(key: str) -> Text | None:
    """What to write into the intent, and what the file holds."""
    holds = _HOLDS.get(key.partition(".")[2])
    if holds is None:
        return None
    return Text(
        en=f"Add `{key}` to the intent: the path, from the intent's folder, of {holds.en}.",
        zh=f"在意图文件中加入 `{key}`：相对于意图文件所在目录的路径，指向{holds.zh}。",
    )


def _bundle(name: str, path: Path) -> Bundle:
    try:
        if path.is_dir():
            return Bundle(name.rstrip("/"), Folder.of(path))
        status = path.stat()
    except (UnreadableError, OSError) as error:
        raise NoEvidenceError(Text(en=f"{name!r} cannot be read: {error}.", zh=f"无法读取 {name!r}。")) from None
    only = Entry(path.name, "file", status.st_size, status.st_mtime_ns)
    return Bundle(name, Folder(path.parent, {path.name: only}), path.name)


def json_rows(bundle: Bundle, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines (or of one JSON array) with their line, up to the limits.

    Raises:
        NoEvidenceError: if the file cannot be read, or a line is no object: evidence with holes is none.
    """
    try:
        with io.BufferedReader(bundle.folder.open(path)) as stream:
            yield from _rows(stream, bundle.label(path))
    except (UnreadableError, OSError) as error:
        raise NoEvidenceError(
            Text(en=f"{bundle.label(path)} cannot be read: {error}.", zh=f"无法读取 {bundle.label(path)}。")
        ) from None


def _rows(stream: Any, label: str) -> Iterator[tuple[int, dict[str, Any]]]:
    read = number = rows = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number, read = number + 1, read + len(line)
        if number == 1 and line.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
            yield from _array(line + stream.read(MAX_DOCUMENT_BYTES), label)
            return
        if len(line) > MAX_LINE_BYTES or read > MAX_LINES_BYTES or rows == MAX_ROWS:
            raise _useless(label, number, "too long to be read", "过长，无法读取")
        if not line.strip():
            continue
        yield number, _object(line, label, number)
        rows += 1


def _array(content: bytes, label: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if len(content) > MAX_DOCUMENT_BYTES:
        raise _useless(label, 1, "too long to be read", "过长，无法读取")
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _useless(label, 1, "not JSON", "不是 JSON") from None
    for number, value in enumerate(values, 1):
        if not isinstance(value, dict):
            raise _useless(label, number, "no object", "不是对象")
        yield number, value


def _object(line: bytes, label: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _useless(label, number, "not JSON", "不是 JSON") from None
    if not isinstance(value, dict):
        raise _useless(label, number, "no object", "不是对象")
    return value


def _useless(label: str, number: int, en: str, zh: str) -> NoEvidenceError:
    return NoEvidenceError(Text(en=f"{label}, line {number}: {en}.", zh=f"{label} 第 {number} 行：{zh}。"))
