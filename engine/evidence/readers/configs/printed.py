"""Settings that a trainer prints into its log: argument tables, printed argument objects, launch commands."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field

from engine.evidence.readers.configs.flags import flags_of, launches

# Megatron pads names with dots to 48 columns; DeepSpeed prints its configuration the same way.
_DOTTED = re.compile(r"^\s*(?:\[[^\]]*\]\s*)*([A-Za-z_][\w.]*) \.{2,} (.*)$")
_OPENS = re.compile(
    r"(?:^|[\s:=])((?:\w*(?:Trainer|Training|Model|Data|Finetuning|Generating|Script)?(?:Arguments|Config|Args)|Namespace)"
    r"\()"
)
_OVERRIDES = re.compile(r"^Overriding: ([A-Za-z_]\w*) = (.*)$")  # nanoGPT
_MEMBER = re.compile(r"^\s*([A-Za-z_]\w*)=(.*)$")
_INLINE = re.compile(r"([A-Za-z_]\w*)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\[[^\[\]]*\]|[^,=()\[\]{}]+)(?=,|\)|$)")
_NEEDLES = (b" ..", b"Overriding: ", b"Arguments(", b"Config(", b"Args(", b"Namespace(", b"--")
_MOST_OPTIONS, _MOST_LINES = 5_000, 2_000


def concerns(text: bytes) -> bool:
    """Whether the lines may hold settings: a cheap look before ``PrintedSettings.take``."""
    return any(needle in text for needle in _NEEDLES)


@dataclass(slots=True)
class PrintedSettings:
    """Takes the lines of a log one by one; ``options`` are the settings, those printed last in front."""

    options: dict[str, object] = field(default_factory=dict)
    open_lines: int = 0

    def take(self, line: str) -> bool:
        """Read the line; true if it held settings."""
        if self.open_lines:
            return self._member(line)
        if (dotted := _DOTTED.match(line) or _OVERRIDES.match(line)) is not None:
            # DeepSpeed calls the data-parallel ranks of its engine the world
            engine = dotted[1] == "world_size" and "config.py:" in line
            self._set("dp_world_size" if engine else dotted[1], dotted[2])
            return True
        if (opened := _OPENS.search(line)) is not None:
            inside = line[opened.end() :]
            for name, value in _INLINE.findall(inside):
                self._set(name, value)
            self.open_lines = 0 if ")" in inside or len(inside) > 200 else _MOST_LINES
            return True
        if launches(line):
            found = flags_of(line)
            for name, value in found.items():
                self._set(name, value)
            return bool(found)
        return False

    def _member(self, line: str) -> bool:
        """A line of an argument object that is printed over several lines, up to its bracket."""
        member = _MEMBER.match(line)
        self.open_lines = self.open_lines - 1 if member or line.strip() in ("", "),") else 0
        if member:
            self._set(member[1], member[2].rstrip().removesuffix(","))
        return member is not None

    def _set(self, name: str, value: object) -> None:
        if len(self.options) < _MOST_OPTIONS or name in self.options:
            self.options[name] = literal(value) if isinstance(value, str) else value


def literal(text: str) -> object:
    """The value that Python would print as ``text``; the text itself if it is none."""
    text = text.strip()
    if text in ("None", "null", ""):
        return None
    if len(text) <= 2_000:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
        return list(value) if isinstance(value, tuple | set) else value
    return text
