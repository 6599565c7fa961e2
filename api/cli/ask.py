"""``traintriage ask``: the same diagnosis as a dialogue in the terminal, one question at a time."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from pydantic_core import to_json
from rich.console import Console
from rich.text import Text as Styled

from api.cases.state import answers_of, known, merged
from api.cli import FOUND, INCOMPLETE, Problem, language_of_terminal
from api.cli.diagnose import gather
from api.reports.text import visible
from engine.diagnose import Diagnoser, EvidenceFile
from engine.dialogue import Reply, Turn, cause_meant, question, reply, understand
from engine.evidence.case_file import CaseError, case_from
from engine.evidence.pasted import looks_logged
from engine.knowledge.load import load_knowledge
from engine.knowledge.problems import KbError
from engine.model.base import Lang, Text
from engine.model.case import Case

if TYPE_CHECKING:
    from api.cli.ask_case import KeptTalk
    from engine.model.observed import Observed

PROMPT = "> "
_TOO_MUCH = Text(
    en="That is more than one case may hold, and was left out: begin again with it as a file.",
    zh="超出了一个案例所能容纳的内容，未予采纳：请把它作为文件重新开始。",
)
PASTE_SECONDS = 0.05
"""Lines that follow one another faster than this were pasted: nobody types them."""


@click.command("ask")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--report", "-r", default="", help="What is wrong, in your own words (English or Chinese).")
@click.option("--lang", type=click.Choice(["en", "zh"]), default=None, help="Language to begin in.")
@click.option(
    "--overlay", type=click.Path(path_type=Path, exists=True, file_okay=False), help="A site's own knowledge."
)
@click.option(
    "--case", "case_id", metavar="ID", help="Keep it: go on with this case of the store, or open one with 'new'."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document at the end; the dialogue goes to stderr."
)
def command(
    paths: tuple[Path, ...], report: str, lang: Lang | None, overlay: Path | None, case_id: str | None, as_json: bool
) -> int:
    """Find the cause in a dialogue: answer questions, paste log lines, ask why.

    PATHS are logs, metrics files, run folders and a case file to begin with. Say "help" for what can be said; Ctrl-D
    ends. From a pipe every line is a message; log lines in a row and what stands between ``` lines are one.

    With --case every message is kept, and the service, Slack and MCP go on with the same case. The store is the one of
    TRAINTRIAGE_STORE_URL, as for the service.
    """
    if any(str(path) == "-" for path in paths):
        raise Problem("standard input is the dialogue", "give the log as a file, or paste it")
    case, files = gather(paths, None)
    if report:
        case = case.model_copy(update={"report": f"{case.report}\n{report}".strip()})
    lang = lang or language_of_terminal()
    if case_id is not None:
        return _keep(case_id, case, files, lang, overlay, as_json)
    try:
        diagnoser = Diagnoser(load_knowledge(overlay=overlay), keep=True)
    except KbError as error:
        raise Problem("the knowledge base does not load", str(error)) from None
    try:
        return _converse(Talk(diagnoser, case, files, lang), as_json)
    finally:
        diagnoser.close()


def _keep(
    case_id: str, case: Case, files: Sequence[EvidenceFile], lang: Lang, overlay: Path | None, as_json: bool
) -> int:
    from api.cli.ask_case import kept_talk

    if overlay is not None:
        raise Problem("wrong use", "a kept case is answered by the knowledge of the service: leave --overlay out")
    with kept_talk(case_id, case, files, lang) as talk:
        click.echo(f"case {talk.case_id}", err=True)
        return _converse(talk, as_json)


def _converse(talk: Talk | KeptTalk, as_json: bool) -> int:
    """Talk until a last word or the end of the input; the exit code is that of ``diagnose``."""
    out = Console(stderr=as_json, highlight=False, width=None if sys.stdout.isatty() else 110)
    _show(talk.begin(), out)
    transcript: list[dict[str, Any]] = []
    typed = sys.stdin.isatty()
    for message in _messages(sys.stdin):
        if not typed:
            out.print(Styled("".join(f"{PROMPT}{visible(line)}\n" for line in message.splitlines())), end="")
        turn, answer = talk.say(message)
        _show(answer, out)
        transcript.append({
            "said": message, "turn": turn.model_dump(mode="json"), "reply": answer.model_dump(mode="json"),
        })  # fmt: skip
        if talk.is_over:
            break
    if as_json:
        click.echo(to_json({"transcript": transcript, "diagnosis": talk.diagnosis}, indent=2, inf_nan_mode="null"))
    return FOUND if talk.diagnosis["findings"] else INCOMPLETE


@dataclass
class Talk:
    """A dialogue in memory: what was given at the start, and what every message told."""

    diagnoser: Diagnoser
    case: Case
    files: Sequence[EvidenceFile]
    lang: Lang
    told: list[Turn] = field(default_factory=list)
    is_over: bool = False
    diagnosis: dict[str, Any] = field(default_factory=dict)
    _read: tuple[list[dict[str, Any]], Observed] | None = None

    def begin(self) -> Reply:
        """The first words: what stands so far, and the first question."""
        self.diagnosis = self._diagnose()
        return reply(None, self.diagnosis, None, self.diagnoser.knowledge, self.lang)

    def say(self, message: str) -> tuple[Turn, Reply]:
        """Take a message in, and answer it."""
        knowledge = self.diagnoser.knowledge
        turn = understand(message, question(self.diagnosis, knowledge, self.lang), knowledge, self.lang)
        self.lang = turn.lang
        before = self._diagnose()
        explained = self._explained(turn, before)
        undone = self._obey(turn, before)
        if turn.tells_anything and self._has_room(turn):
            self.told.append(turn)
        elif turn.tells_anything:
            turn = Turn(text=turn.text, lang=turn.lang, unclear=_TOO_MUCH.get(turn.lang))
        self.diagnosis = self._diagnose()
        return turn, reply(
            before, self.diagnosis, turn, knowledge, self.lang,
            passed=len(self._passed), explained=explained, undone=undone,
        )  # fmt: skip

    def _has_room(self, turn: Turn) -> bool:
        """Whether the case can hold what the message brings beside what it holds already."""
        try:
            _with(self.case, [told.evidence for told in (*self.told, turn) if told.evidence])
        except CaseError:
            return False
        return True

    def _obey(self, turn: Turn, diagnosis: dict[str, Any]) -> bool:
        """Do what the message wishes; whether there was something to take back."""
        kind = turn.command.kind if turn.command is not None else None
        had = bool(self.told)
        if kind == "undo" and had:
            self.told.pop()
        elif kind == "restart":
            self.told.clear()
        elif kind == "stop":
            self.is_over = True
        elif kind == "resolve" and turn.command is not None:
            self.is_over = bool(turn.command.words or cause_meant(turn.command, diagnosis))
        return had

    def _explained(self, turn: Turn, diagnosis: dict[str, Any]) -> dict[str, Any] | None:
        if turn.command is None or turn.command.kind not in ("why", "why-not"):
            return None
        cause = cause_meant(turn.command, diagnosis)
        if cause is None:
            return None
        return self.diagnoser.explain(self._observed(), cause, lang=self.lang).model_dump()

    @property
    def _known(self) -> tuple[dict[str, Any], frozenset[str]]:
        return known(answers_of(turn) for turn in self.told)

    @property
    def _passed(self) -> frozenset[str]:
        return self._known[1]

    def _diagnose(self) -> dict[str, Any]:
        return self.diagnoser.answer(self._observed(), lang=self.lang, passed=self._passed)

    def _observed(self) -> Observed:
        """Everything given and told so far. Evidence is read again only if there is more of it, or less."""
        pieces = [turn.evidence for turn in self.told if turn.evidence]
        if self._read is None or self._read[0] != pieces:
            self._read = pieces, self.diagnoser.collect(_with(self.case, pieces), self.files)
        facts, _ = self._known
        return self.diagnoser.informed(self._read[1], facts) if facts else self._read[1]


def _with(case: Case, pieces: Sequence[dict[str, Any]]) -> Case:
    """The case with the texts that were told and the lines that were pasted since.

    Raises:
        CaseError: if that is more than a case may hold.
    """
    return case_from(merged([case.model_dump(exclude_unset=True), *pieces]))


def _messages(stream: TextIO) -> Iterator[str]:
    """The messages that come in: lines typed, or blocks that were pasted."""
    if not stream.isatty():
        yield from _piped(stream)
        return
    while True:
        try:
            lines = [input(PROMPT)]
        except EOFError:
            click.echo(err=True)
            return
        while select.select([stream], [], [], PASTE_SECONDS)[0]:
            line = stream.readline()
            if not line:
                break
            lines.append(line.rstrip("\n"))
        yield "\n".join(lines)


def _piped(stream: TextIO) -> Iterator[str]:
    """A message a line; a fenced block, or log lines in a row, are one. Empty lines say nothing."""
    block: list[str] = []
    fenced = False
    for line in stream:
        text = line.rstrip("\r\n")
        fence = text.lstrip().startswith("```")
        if fenced or fence:
            block.append(text)
            fenced = fenced != fence
            if fenced:
                continue
        elif looks_logged(text) or (block and text[:1] in (" ", "\t")):
            block.append(text)
            continue
        if block:
            yield "\n".join(block)
            block = []
        if text.strip() and not fence:
            yield text
    if block:
        yield "\n".join(block)


def _show(answer: Reply, out: Console) -> None:
    """Print a reply: the question stands out, what was understood steps back, commands keep their lines."""
    understood = "\n".join(answer.understood)
    asked = answer.question.text if answer.question is not None else None
    out.print()
    for number, paragraph in enumerate(answer.paragraphs):
        if number:
            out.print()
        for line in paragraph.splitlines():
            style = "dim" if paragraph == understood else "bold" if asked is not None and asked in line else ""
            is_command = line.startswith("  ")
            out.print(Styled(visible(line), style="cyan" if is_command else style), soft_wrap=is_command)
    out.print()
