"""A diagnosis as a person wants to read it on a terminal: the answer first, the proof below, the rest on request."""

from __future__ import annotations

import json
import os

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as Styled

from engine.inference.wording import percent
from engine.model.base import Lang
from engine.model.diagnosis import CauseOut, Diagnosis, EvidenceOut, NextCheckOut, WhyNotOut

_WORDS: dict[str, tuple[str, str]] = {
    "cause": ("Cause", "原因"),
    "chance": ("Chance", "概率"),
    "unknown": ("none of the known causes", "不在已知原因之内"),
    "next": ("Next checks", "下一步检查"),
    "fix": ("What to do", "处理办法"),
    "if": ("if", "若"),
    "minutes": ("min", "分钟"),
    "risk": ("risk", "风险"),
    "none": ("none", "无"),
    "low": ("low", "低"),
    "medium": ("medium", "中"),
    "high": ("high", "高"),
    "also": ("A second fault is likely as well", "很可能还有第二个问题"),
    "unexplained": ("Not explained by it", "它未能解释"),
    "resembles": ("the words resemble what is written of it", "措辞与该原因的描述相近"),
    "not_judged": ("Not judged", "未判断"),
    "not_understood": ("Not understood, kept as it is", "未能理解，原样保留"),
    "numbers": ("Worked out", "推算结果"),
    "read": ("Read", "已读取"),
    "facts": ("Facts", "事实"),
    "findings": ("Findings", "发现"),
    "advice": ("Ways to split the work that the numbers speak for", "数字所支持的并行切分方式"),
    "checklist": ("Release checklist", "发布检查清单"),
    "missing": ("Would support it, but is unknown", "若成立会支持它，但目前未知"),
    "outweighed": ("Outweighed by", "被以下原因压过"),
    "trial": ("on trial", "试用规则"),
    "pass": ("pass", "通过"),
    "fail": ("fail", "不通过"),
    "not_enough_evidence": ("not enough evidence", "证据不足"),
}
_SHOWN_CAUSES = 5
_SHOWN_LIKENESS = 1.0  # bits
_SHOWN_PROOFS = 2
_SHOWN_CHECKS = 3


class _Words:
    def __init__(self, lang: Lang) -> None:
        self._index = 1 if lang == "zh" else 0

    def __getitem__(self, key: str) -> str:
        return _WORDS[key][self._index]


def console() -> Console:
    """Colours on a terminal, plain text in a pipe; ``NO_COLOR`` is honoured by rich itself."""
    width = None if os.isatty(1) else 110
    return Console(width=width, highlight=False, soft_wrap=False)


def render_diagnosis(diagnosis: Diagnosis, lang: Lang, verbose: bool = False, out: Console | None = None) -> None:
    """Print the diagnosis; ``verbose`` adds facts, context and what was read."""
    out = out or console()
    words = _Words(lang)
    out.print(Styled(diagnosis.summary, style="bold"))
    if diagnosis.causes:
        out.print()
        out.print(_ranking(diagnosis, words))
        titles = _titles(diagnosis)
        for cause in diagnosis.causes[:_SHOWN_PROOFS]:
            out.print(_proof(cause, words, titles))
        also = [f"{titles[item.cause]} ({percent(item.probability)})" for item in diagnosis.also_likely]
        _list(out, words["also"], also)
        if diagnosis.next_checks:
            out.print(_next_checks(diagnosis.next_checks[:_SHOWN_CHECKS], words, titles))
    if diagnosis.causes:
        out.print(_remedies(diagnosis.causes[0], words))
    _list(
        out,
        words["checklist"],
        [f"{gate.stage}. {gate.title}: {words[gate.status]}" for gate in diagnosis.checklist],
    )
    _list(
        out,
        words["numbers"],
        [f"{item.title}: {_value(item.value, item.unit)}  = {item.formula}" for item in diagnosis.calculations],
    )
    if verbose:
        _details(out, diagnosis, words)
    _list(out, words["not_judged"], [f"{item.what}: {item.why}" for item in diagnosis.coverage.not_judged], dim=True)
    _list(
        out,
        words["not_understood"],
        [f"{item.where}: {item.text} ({item.why})" for item in diagnosis.not_understood],
        dim=True,
    )


def _titles(diagnosis: Diagnosis) -> dict[str, str]:
    """The titles of all findings and causes in the answer, by id."""
    titles = {finding.id: finding.title for finding in (*diagnosis.findings, *diagnosis.context)}
    return titles | {cause.id: cause.title for cause in diagnosis.causes}


def _value(value: object, unit: str | None) -> str:
    """A fact's value as a case file would state it."""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{shown} {unit}" if unit else shown


def _ranking(diagnosis: Diagnosis, words: _Words) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(words["chance"], justify="right", no_wrap=True)
    table.add_column(words["cause"], overflow="fold")
    table.add_column("", style="dim", overflow="fold")
    for cause in diagnosis.causes[:_SHOWN_CAUSES]:
        trial = f" ({words['trial']})" if cause.status == "trial" else ""
        table.add_row(percent(cause.probability), Styled(cause.title + trial), cause.id)
    table.add_row(percent(diagnosis.unknown.probability), Styled(words["unknown"], style="italic"), "")
    return table


def _proof(cause: CauseOut, words: _Words, titles: dict[str, str]) -> Padding:
    parts: list[Styled] = [Styled(f"\n{cause.title}", style="bold"), Styled(cause.meaning)]
    parts += [_evidence_line("+", item) for item in cause.evidence_for[:6]]
    parts += [_evidence_line("−", item) for item in cause.evidence_against[:4]]
    if cause.resembles >= _SHOWN_LIKENESS:
        alike = f"{words['resembles']}: {', '.join(cause.resembles_by)}"
        parts.append(Styled(f"  ~ {cause.resembles:4.1f} bit  {alike}", style="dim"))
    if cause.not_explained:
        parts.append(
            Styled(
                f"  {words['unexplained']}: {'; '.join(titles[finding] for finding in cause.not_explained[:6])}",
                style="dim",
            )
        )
    return Padding(Group(*parts), (0, 0, 0, 0))


def _evidence_line(sign: str, item: EvidenceOut) -> Styled:
    line = Styled(f"  {sign} {abs(item.bits):4.1f} bit  ", style="green" if sign == "+" else "red")
    line.append(item.because, style="default")
    where = ", ".join(dict.fromkeys(source.where for source in item.sources[:2]))
    if where:
        line.append(f"  [{where}]", style="dim")
    return line


def _next_checks(checks: list[NextCheckOut], words: _Words, titles: dict[str, str]) -> Group:
    parts: list[Styled] = [Styled(f"\n{words['next']}", style="bold")]
    for number, check in enumerate(checks, start=1):
        cost = f"{check.minutes:g} {words['minutes']}"
        if check.risk != "none":
            cost += f", {words['risk']} {words[check.risk]}"
        parts.append(Styled(f"{number}. {check.title}  ({cost}, {check.gain_bits:.2f} bit)"))
        if check.how:
            parts.append(Styled(f"   {check.how}", style="dim"))
        for tool, line in list(check.commands.items())[:2]:
            parts += [Styled(f"   {text}", style="cyan") for text in f"{tool}$ {line}".splitlines()]
        for outcome in check.outcomes:
            then = ", ".join(
                f"{titles.get(item.cause, item.cause)} {percent(item.probability)}" for item in outcome.then[:2]
            )
            parts.append(Styled(f"   {words['if']} {outcome.outcome} → {then}", style="dim"))
    return Group(*parts)


def _remedies(cause: CauseOut, words: _Words) -> Group:
    parts: list[Styled] = [Styled(f"\n{words['fix']} ({cause.title})", style="bold")]
    parts += [
        Styled(f"• {remedy.do}  ({remedy.minutes:g} {words['minutes']}, {words['risk']} {words[remedy.risk]})")
        for remedy in cause.remedies
    ]
    return Group(*parts)


def _list(out: Console, title: str, lines: list[str], dim: bool = False, limit: int = 12) -> None:
    if not lines:
        return
    out.print(Styled(f"\n{title}", style="dim" if dim else "bold"))
    for line in lines[:limit]:
        out.print(Styled(f"  {line}", style="dim" if dim else ""))
    if len(lines) > limit:
        out.print(Styled(f"  … {len(lines) - limit}", style="dim"))


def _details(out: Console, diagnosis: Diagnosis, words: _Words) -> None:
    _list(out, words["advice"], [f"{item.title}: {item.why}" for item in diagnosis.advice])
    _list(out, words["findings"], [f"{f.id}: {f.because}" for f in (*diagnosis.findings, *diagnosis.context)], limit=60)
    _list(out, words["facts"], [f"{f.id} = {_value(f.value, f.unit)}" for f in diagnosis.facts], limit=100)
    _list(out, words["read"], [", ".join(f"{k} {v}" for k, v in item.items()) for item in diagnosis.coverage.read])


def render_why_not(answer: WhyNotOut, lang: Lang, out: Console | None = None) -> None:
    """Print why a cause is not first, and what would bring it up."""
    out = out or console()
    words = _Words(lang)
    rank = f"#{answer.rank}, " if answer.rank else ""
    out.print(Styled(f"{answer.title} ({rank}{answer.probability:.1%})", style="bold"))
    for item in answer.supporting:
        out.print(_evidence_line("+", item))
    for item in answer.opposing:
        out.print(_evidence_line("−", item))
    _list(out, words["missing"], [f"{m['title']} (+{m['bits_if_present']} bit)" for m in answer.missing])
    _list(out, words["outweighed"], [f"{item.cause} ({item.probability:.0%})" for item in answer.outweighed_by])
