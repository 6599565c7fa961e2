"""An audit as a person wants to read it on a terminal: the verdict, what to mend, what is missing, then the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text as Styled

from api.reports.outline import outline
from api.reports.text import visible, word

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.model.audit import AuditedGate, AuditResult, PlaceOut
    from engine.model.base import Lang

_COLOURS = {"pass": "green", "fail": "red", "incomplete": "yellow"}
_SHOWN_PLACES = 3
_SHOWN_REMEDIES = 3
_SHOWN_CHECKS = 2


def render_audit(result: AuditResult, lang: Lang, out: Console, verbose: bool = False) -> None:
    """Print the audit; ``verbose`` adds why gates that nothing requires were not judged, and what passed."""
    _Report(lang, out).print(result, verbose)


class _Report:
    def __init__(self, lang: Lang, out: Console) -> None:
        self._lang = lang
        self._out = out

    def print(self, result: AuditResult, verbose: bool) -> None:
        lines = outline(result)
        self._out.print(Styled(visible(result.summary), style=f"bold {_COLOURS[result.verdict]}"))
        self._out.print(Styled(self._subject(result), style="dim"))
        self._heading("failed", lines.failures)
        for failure in lines.failures:
            self._block("✗", "red", failure.gate, self._proof(failure.gate, failure.consequences))
        self._heading("lacking", lines.lacking)
        for gate in lines.lacking:
            self._block("?", "yellow", gate, [Styled(visible(gate.because)), *self._checks(gate)])
        self._heading("waivers", lines.waived)
        for gate in lines.waived:
            self._block("~", "yellow", gate, [Styled(visible(gate.waived_by or "")), *self._places(gate)])
        self._list("unused", result.waivers_unused)
        self._list("unknown_keys", result.not_understood)
        self._list("repeated", result.repeated_keys)
        self._out.print()
        self._rest("open", lines.open, verbose)
        self._rest("passed", lines.passed, verbose)
        self._rest("outside", lines.outside, verbose)

    def _word(self, key: str, **values: object) -> str:
        return word(key, self._lang, **values)

    def _subject(self, result: AuditResult) -> str:
        parts = [f"{self._word('kind')} {result.kind}"]
        if result.paradigm:
            parts.append(f"{self._word('paradigm')} {result.paradigm}")
        parts += [
            f"{self._word('policy')} {result.policy}",
            f"{self._word('files')} {len(result.files):,} ({_size(sum(file.size for file in result.files))})",
            f"{self._word('knowledge')} {result.kb_version} {result.kb_digest[:12]}",
        ]
        return " · ".join(parts)

    def _heading(self, key: str, items: Sequence[object]) -> None:
        if items:
            self._out.print(Styled(f"\n{self._word(key)} ({len(items)})", style="bold"))

    def _block(self, sign: str, style: str, gate: AuditedGate, lines: Iterable[Styled]) -> None:
        head = Styled(f"{sign} ", style=style)
        head.append(self._word(gate.severity), style=style)
        head.append(f"  {visible(gate.title)}", style="bold")
        head.append(f"  {gate.id}", style="dim")
        self._out.print(head)
        self._indented(lines, 4)

    def _indented(self, lines: Iterable[Styled], columns: int) -> None:
        """Wrapped inside the indent; a command stays on one line, so that it can be copied."""
        for line in lines:
            for part in line.wrap(self._out, self._out.width - columns):
                part.rstrip()
                self._out.print(Styled(" " * columns).append_text(part), soft_wrap=True)

    def _proof(self, gate: AuditedGate, consequences: Sequence[AuditedGate]) -> list[Styled]:
        lines = [Styled(visible(gate.because)), *self._places(gate)]
        lines += [Styled(f"→ {visible(remedy)}", style="green") for remedy in gate.remedies[:_SHOWN_REMEDIES]]
        lines += self._checks(gate)
        if gate.leads_to:
            lines.append(Styled(f"{self._word('leads')}: {', '.join(gate.leads_to)}", style="dim"))
        if consequences:
            titles = "; ".join(f"{visible(other.title)} ({other.id})" for other in consequences)
            lines.append(Styled(f"{self._word('consequences')}: {titles}", style="dim"))
        return lines

    def _places(self, gate: AuditedGate) -> list[Styled]:
        lines = [self._place(place) for place in gate.places[:_SHOWN_PLACES]]
        if gate.place_count > len(lines):
            lines.append(Styled(self._word("more", count=gate.place_count - len(lines)), style="dim"))
        return lines

    def _place(self, place: PlaceOut) -> Styled:
        line = Styled(f"{visible(place.file)}: {visible(place.at)}" if place.at else visible(place.file), style="cyan")
        if place.observed:
            line.append(f"  {self._word('observed')} {visible(place.observed)}", style="default")
        if place.expected:
            line.append(f"  {self._word('expected')} {visible(place.expected)}", style="default")
        if place.expected_from:
            line.append(f"  ({self._word('from')} {place.expected_from})", style="dim")
        return line

    def _checks(self, gate: AuditedGate) -> list[Styled]:
        lines: list[Styled] = []
        for check in gate.next_checks[:_SHOWN_CHECKS]:
            lines.append(Styled(f"{self._word('check')}: {visible(check.title)}"))
            commands = check.command.splitlines()
            lines += [Styled(f"  {visible(line)}", style="cyan", no_wrap=True, overflow="ignore") for line in commands]
        return lines

    def _rest(self, key: str, gates: Sequence[AuditedGate], verbose: bool) -> None:
        self._out.print(Styled(f"{self._word(key)}: {self._word('counts', count=len(gates))}", style="dim"))
        for gate in gates if verbose else ():
            self._indented([Styled(f"{visible(gate.title)}  {gate.id}")], 2)
            if gate.status == "not_enough_evidence":
                self._indented([Styled(visible(gate.because), style="dim")], 4)

    def _list(self, key: str, items: Sequence[str]) -> None:
        if items:
            self._out.print(Styled(f"\n{self._word(key)}: {', '.join(map(visible, items))}", style="yellow"))


def _size(count: int) -> str:
    """Bytes in decimal units, as disks and download pages count them."""
    size, units = float(count), iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while size >= 1000 and unit != "TB":
        size, unit = size / 1000, next(units)
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
