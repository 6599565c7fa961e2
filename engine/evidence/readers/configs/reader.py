"""Configuration files of trainers, and logs that begin with printed settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import IO

from engine.evidence.readers.configs.dialects import dialect_of
from engine.evidence.readers.configs.printed import PrintedSettings, concerns
from engine.evidence.readers.configs.syntax import ConfigSyntaxError, names_in, options_of, syntax_of
from engine.evidence.readers.console.reader import read_console
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, line_blocks, without_prefix
from engine.evidence.readers.results.document import text_of
from engine.evidence.series import ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

_FEWEST = 2  # options that a log must print before they count as its settings
_SETTINGS_BYTES = 4 << 20  # a run prints its settings before it trains; further launches come with a resume


def read_configuration(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """The options as ``config``, nested as in the file: ``read_config`` gives them their meaning."""
    notes = Notes([])
    text = text_of(stream, limits, notes)
    syntax = syntax_of(text) or "yaml"
    options: Mapping[str, object] = {}
    repeated: list[str] = []
    try:
        options = options_of(text, syntax, repeated)
    except ConfigSyntaxError as problem:
        notes.add(f"{problem}; it looks like a configuration ({syntax})")
    for key in repeated:
        notes.add(f"the key {key!r} stands twice: the last value counts")
    end = RunEnd("unknown", Source("measured", label, "a configuration"))
    lines = text.count("\n") + 1
    note = ReadNote(label, "configuration", len(options), lines)
    return RunRecord(note, end, config=options, not_understood=tuple(notes.texts))


def _is_configuration(head: bytes) -> bool:
    """A file of options that one of the dialects claims; a case may hold such a file, and is none."""
    text = head.decode("utf-8-sig", "replace")
    syntax = syntax_of(text)
    if syntax in (None, "script"):
        return syntax == "script"
    names = names_in(text, syntax)
    return not {name.split(".")[0] for name in names} & {"case", "report", "observations"} and bool(dialect_of(names))


def read_log_with_settings(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """A console log, with the settings that it prints before training."""
    record = read_console(stream, label, limits)
    stream.seek(0)
    settings = settings_of(stream, limits)
    if len(settings) < _FEWEST:
        return record
    return replace(record, config={**settings, **record.config})


def settings_of(stream: IO[bytes], limits: Limits) -> Mapping[str, object]:
    """The settings printed in the first megabytes of a log."""
    printed = PrintedSettings()
    taken = 0
    for _, lines in line_blocks(stream, limits, Notes([])):
        taken += sum(map(len, lines))
        if printed.open_lines or concerns(b"\n".join(lines)):
            for line in lines:
                if printed.open_lines or concerns(line):
                    printed.take(without_prefix(line)[0][:65_536].decode("utf-8", "replace"))
        if taken > _SETTINGS_BYTES:
            break
    return printed.options


def _prints_settings(head: bytes) -> bool:
    if not concerns(head) or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return False
    printed = PrintedSettings()
    for line in head.split(b"\n"):
        if printed.open_lines or concerns(line):
            printed.take(without_prefix(line)[0][:65_536].decode("utf-8", "replace"))
        if len(printed.options) >= _FEWEST:
            return True
    return False


CONFIGURATION = Format("configuration", _is_configuration, read_configuration)
LOG_WITH_SETTINGS = Format("log_with_settings", _prints_settings, read_log_with_settings)
