"""A strict YAML reader for knowledge files: plain data only; an error says where, and what to write instead.

It builds on the parser events of PyYAML (the C parser where it is installed), because only events still show
anchors, aliases, tags and duplicate keys. Refused: those four, merge keys, tabs, directives, more documents,
words on which YAML 1.1 and 1.2 disagree (:mod:`engine.knowledge.scalars`), and all beyond the limits below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

import yaml

from engine.knowledge.problems import START, DataPath, KbError, Place, Problem
from engine.knowledge.scalars import ScalarError, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FILE_BYTES = 256 * 1024
MAX_DEPTH = 20
MAX_NODES = 20_000
MAX_SCALAR_BYTES = 20_000

# The printable characters of YAML 1.2.2, production 1, without the tab, which has its own message.
_UNPRINTABLE = re.compile("[^\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")

_SYNTAX_HINTS: tuple[tuple[str, str], ...] = (
    (
        "mapping values are not allowed",
        "A text with ': ' inside must stand in quotes; otherwise check the indentation",
    ),
    ("cannot start any token", "A text that starts with @, ` or % must stand in quotes"),
    ("simple key", "A key needs a colon and a space after it; a text over several lines needs '>' or quotes"),
    ("unexpected end of stream", "Close the quote that was opened here"),
    ("unknown escape character", "In double quotes write \\\\ for a backslash, or use single quotes"),
    ("block collection", "Line the entry up with the others of its list or mapping"),
    ("block mapping", "Line the key up with the others, or put the text before it in quotes"),
    ("block end", "Line the entry up with the others of its list or mapping"),
    ("flow sequence", "Close the '[' or put a text with a comma or bracket in quotes"),
    ("flow mapping", "Close the '{' or put a text with a comma, brace or ': ' in quotes"),
    ("',' or", "Close the bracket, or put a text with a comma or bracket in quotes"),
    ("anchor", "Put a text that starts with & or * in quotes"),
    ("alias", "Put a text that starts with & or * in quotes"),
    ("tag", "Put a text that starts with ! in quotes"),
)


@dataclass(frozen=True)
class Document:
    """A file as plain data; not ``complete`` if reading stopped early, then ``data`` must not be judged."""

    file: str
    data: Any
    positions: dict[DataPath, Place]
    problems: list[Problem]
    complete: bool


class _Stop(Exception):  # noqa: N818 - ends the reading of one file, the problem is already noted
    pass


def load(path: Path) -> tuple[Any, dict[DataPath, Place]]:
    """Read one file.

    Returns:
        The plain data, and the place of every key and list item by its path.

    Raises:
        KbError: with every problem of the file.
        OSError: if the file cannot be read.
    """
    document = parse(path.read_bytes(), str(path))
    if document.problems:
        raise KbError(document.problems)
    return document.data, document.positions


def parse(content: bytes, file: str) -> Document:
    """Read the bytes of one file; problems are collected in the result, never raised."""
    reader = _Reader(file)
    try:
        text = reader.decode(content)
        data = reader.document(text)
    except _Stop:
        return Document(file, None, reader.positions, reader.problems, complete=False)
    return Document(file, data, reader.positions, reader.problems, complete=True)


@dataclass
class _Reader:
    file: str
    problems: list[Problem] = field(default_factory=list)
    positions: dict[DataPath, Place] = field(default_factory=dict)
    nodes: int = 0

    def note(self, place: Place, reason: str, hint: str) -> None:
        self.problems.append(Problem(self.file, place.line, place.column, reason, hint))

    def stop(self, place: Place, reason: str, hint: str) -> Never:
        self.note(place, reason, hint)
        raise _Stop

    def decode(self, content: bytes) -> str:
        """The text of the file, if it is small UTF-8 without tabs and control characters."""
        if len(content) > MAX_FILE_BYTES:
            self.stop(
                START,
                f"the file has {len(content)} bytes, the limit is {MAX_FILE_BYTES}",
                "Split it by subject",
            )
        if content.startswith(b"\xef\xbb\xbf"):
            self.stop(START, "the file starts with a byte order mark", "Save it as UTF-8 without BOM")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            good = content[: error.start].decode("utf-8")
            self.stop(_place_at(good, len(good)), "the file is not UTF-8 from here on", "Save it as UTF-8")
        if bad := _UNPRINTABLE.search(text.replace("\t", " ")):
            self.stop(
                _place_at(text, bad.start()),
                f"the character U+{ord(bad.group()):04X} may not stand in YAML",
                'Delete it, or write it in double quotes as an escape such as "\\x1b"',
            )
        self._note_tabs(text)
        return text

    def _note_tabs(self, text: str) -> None:
        for number, line in enumerate(text.split("\n"), start=1):
            if (column := line.find("\t")) >= 0:
                self.note(Place(number, column + 1), "a tab", 'Indent with spaces; inside double quotes write "\\t"')

    def document(self, text: str) -> Any:
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        events = yaml.parse(text.replace("\t", " "), Loader=loader)
        try:
            return self._documents(events)
        except yaml.YAMLError as error:
            place, reason, hint = _syntax_error(error)
            self.stop(place, reason, hint)

    def _documents(self, events: Iterator[Any]) -> Any:
        data, count = None, 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                count += 1
                if event.version or event.tags:
                    self.note(_start(event), "a directive", "Delete the line that starts with %")
                if count > 1:
                    self.stop(
                        _start(event),
                        "a second document",
                        "Put it into a file of its own, and delete the '---'",
                    )
            elif isinstance(event, yaml.NodeEvent):
                data = self._node(event, events, (), 1)
        if count == 0:
            self.stop(START, "the file is empty", "Write the object or the list, or delete the file")
        return data

    def _node(self, event: Any, events: Iterator[Any], path: DataPath, depth: int) -> Any:
        place = _start(event)
        self.positions.setdefault(path, place)
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.stop(place, f"more than {MAX_NODES} values in one file", "Split it by subject")
        if depth > MAX_DEPTH:
            self.stop(place, f"nested deeper than {MAX_DEPTH}", "Check the indentation and the brackets")
        if event.anchor is not None:
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            self.note(
                place,
                f"an anchor or alias ({sign}{event.anchor})",
                "Repeat the text, or put it in quotes if it is text",
            )
        elif getattr(event, "tag", None) is not None:
            self.note(place, f"a tag ({event.tag})", "Delete it; put a text that starts with ! in quotes")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(events, path, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(events, path, depth)
        return self._scalar(event, place)

    def _sequence(self, events: Iterator[Any], path: DataPath, depth: int) -> list[Any]:
        items: list[Any] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._node(event, events, (*path, len(items)), depth + 1))
        return items

    def _mapping(self, events: Iterator[Any], path: DataPath, depth: int) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event, events, (*path, -1), depth)
            if key in entries:
                first = self.positions[(*path, key)]
                self.note(
                    _start(event),
                    f"the key '{key}' stands here twice, first in line {first.line}",
                    "Keep one of the two",
                )
            else:
                self.positions[(*path, key)] = _start(event)
            value = self._node(next(events), events, (*path, key), depth + 1)
            entries.setdefault(key, value)
        return entries

    def _key(self, event: Any, events: Iterator[Any], path: DataPath, depth: int) -> str:
        key = self._node(event, events, path, depth + 1)
        del self.positions[path]
        if not isinstance(key, str):
            self.note(_start(event), "a key must be a text", "Write the key in quotes")
            return str(key)
        if key == "<<" and event.implicit[0]:
            self.note(_start(event), "a merge key (<<)", "Repeat the keys; nothing is inherited in a knowledge file")
        return key

    def _scalar(self, event: Any, place: Place) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return f"*{event.anchor}"
        value: str = event.value
        if len(value.encode("utf-8")) > MAX_SCALAR_BYTES:
            self.note(place, f"a text of more than {MAX_SCALAR_BYTES} bytes", "Shorten it")
        if not event.implicit[0]:  # quoted, block or tagged: text as it stands
            return value
        try:
            return resolve(value)
        except ScalarError as error:
            self.note(place, error.reason, error.hint)
            return value


def _start(event: Any) -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


def _place_at(text: str, index: int) -> Place:
    before = text[:index]
    return Place(before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1)


def _syntax_error(error: yaml.YAMLError) -> tuple[Place, str, str]:
    context, problem = getattr(error, "context", None), getattr(error, "problem", None)
    mark = getattr(error, "problem_mark", None)
    if mark is None or (context and ("quoted scalar" in context or "parsing a flow" in context)):
        mark = getattr(error, "context_mark", None) or mark  # where the quote or bracket was opened
    place = Place(mark.line + 1, mark.column + 1) if mark else START
    parts = [part for part in (context, problem) if part]
    reason = ": ".join(parts) or str(error)
    # The problem is more telling than its context, so it is matched first.
    for said in reversed(parts):
        for words, hint in _SYNTAX_HINTS:
            if words in said:
                return place, reason, hint
    return place, reason, "Check the indentation, the quotes and the brackets of this line and the one above"
