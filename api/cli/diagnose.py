"""``traintriage diagnose``: whatever there is, in; ranked causes and next checks, out."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from pydantic_core import to_json

from api.cli import FOUND, INCOMPLETE, NOTHING_TO_DO, Problem, language_of_terminal
from engine.diagnose import Diagnoser, EvidenceFile
from engine.evidence.case_file import CASE_KEYS, CaseError, case_from, is_case, parse_document
from engine.knowledge.load import load_knowledge
from engine.knowledge.problems import KbError
from engine.model.base import Lang
from engine.model.case import Case

MAX_CASE_BYTES = 32 * 1024 * 1024
MAX_FILES = 2_000
# The first key of a JSON object or a YAML mapping; a comment, a list or anything else before it does not match.
_FIRST_KEY = re.compile(r"""\s*(?:\{\s*)?["']?([\w.-]+)["']?\s*:""")

_CASE_KEY = re.compile(r"""\bcase["']?\s*:""")


@click.command("diagnose")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--case", "case_file", type=click.Path(path_type=Path, allow_dash=True), help="Read this file as a case.")
@click.option("--report", "-r", "reports", multiple=True, help="What is wrong, in your own words (English, Chinese).")
@click.option("--fact", "-f", "facts", multiple=True, metavar="ID=VALUE", help="A fact by id, or any name and value.")
@click.option("--paradigm", "-p", help="pretrain, sft, dpo, rlhf, contrastive, embedding, eval, release …")
@click.option("--lang", type=click.Choice(["en", "zh"]), default=None, help="Language of the answer.")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="At most this many causes.")
@click.option("--why-not", metavar="CAUSE", help="Explain why this cause is not first.")
@click.option(
    "--overlay", type=click.Path(path_type=Path, exists=True, file_okay=False), help="A site's own knowledge."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--verbose", "-v", is_flag=True, help="Also print all facts, calculations and what was read.")
def command(
    paths: tuple[Path, ...],
    case_file: Path | None,
    reports: tuple[str, ...],
    facts: tuple[str, ...],
    paradigm: str | None,
    lang: Lang | None,
    limit: int,
    why_not: str | None,
    overlay: Path | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Rank the causes of an incident.

    PATHS are any mix of logs, metrics files, run folders and case files (YAML or JSON); "-" reads standard input.
    """
    language: Lang = lang or language_of_terminal()
    case, files = gather(paths, case_file)
    case = _with_options(case, "\n\n".join(reports), facts, paradigm)
    if case.is_empty and not files:
        raise Problem(
            "nothing to diagnose",
            'give a file, a folder, a sentence (--report "loss went NaN at step 300") or facts (--fact precision=fp16)',
            NOTHING_TO_DO,
        )
    try:
        diagnoser = Diagnoser(load_knowledge(overlay=overlay), keep=True)
    except KbError as error:
        raise Problem("the knowledge base does not load", str(error)) from None
    try:
        if why_not is not None:
            return _print_why_not(diagnoser, case, files, why_not, language, as_json)
        observed = diagnoser.collect(case, files)
        if case.is_empty and all(item["format"] == "empty" for item in observed.read):
            raise Problem("nothing to diagnose", f"{', '.join(file.name for file in files[:5])}: empty", NOTHING_TO_DO)
        answer = diagnoser.answer(observed, lang=language, limit=limit)
    finally:
        diagnoser.close()
    if as_json:
        click.echo(to_json(answer, indent=2, inf_nan_mode="null"))
    else:
        from api.render import render_diagnosis
        from engine.model.diagnosis import Diagnosis

        render_diagnosis(Diagnosis.model_validate(answer), language, verbose)
    if answer["findings"]:
        return FOUND
    # Nothing found in what could not be read is no all-clear.
    something = answer["coverage"]["judged"] or any(fact["id"] != "run.end" for fact in answer["facts"])
    return 0 if something or answer["context"] else INCOMPLETE


def _print_why_not(
    diagnoser: Diagnoser, case: Case, files: Sequence[EvidenceFile], cause: str, lang: Lang, as_json: bool
) -> int:
    try:
        answer = diagnoser.why_not(case, cause, files, lang=lang)
    except KeyError:
        near = difflib.get_close_matches(cause, list(diagnoser.knowledge.active_causes), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "a diagnosis lists the ids of its causes"
        raise Problem("unknown cause", f"{cause!r} is not a cause that is diagnosed; {hint}") from None
    if as_json:
        click.echo(answer.model_dump_json(indent=2))
    else:
        from api.render import render_why_not

        render_why_not(answer, lang)
    return 0


def gather(paths: Sequence[Path], case_file: Path | None) -> tuple[Case, list[EvidenceFile]]:
    """The case and the evidence files among ``paths``; several case documents are an error, not a merge."""
    cases: list[tuple[str, Case]] = []
    files: list[EvidenceFile] = []
    if case_file is not None:
        cases.append((str(case_file), _forced_case(case_file)))
    for path in paths:
        found = _case_in(path)
        if found is not None:
            cases.append((str(path), found))
        elif str(path) == "-":
            files.append(EvidenceFile("standard input", data=sys.stdin.buffer.read()))
        else:
            files += [EvidenceFile(_shown(name), path=file) for name, file in _expand(path)]
    if len(cases) > 1:
        raise Problem("more than one case", f"{', '.join(name for name, _ in cases)}: give one case document at a time")
    return (cases[0][1] if cases else Case()), files


def _shown(name: str) -> str:
    """A file name as text: what is no UTF-8 in it is written out."""
    return os.fsencode(name).decode(errors="backslashreplace")


def _forced_case(path: Path) -> Case:
    try:
        if str(path) != "-" and (not path.is_file() or path.stat().st_size > MAX_CASE_BYTES):
            raise Problem("the case cannot be read", f"{path} is not a regular file of at most {MAX_CASE_BYTES} bytes")
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8", errors="replace")
        return case_from(parse_document(text))
    except OSError as error:
        raise Problem("the case cannot be read", f"{path}: {error.strerror}") from None
    except CaseError as error:
        raise Problem("the case is not understood", f"{path}: {error}", errors=_errors(error)) from None


def _case_in(path: Path) -> Case | None:
    """The case that the file is, if it is one; a YAML or JSON file that is not stays evidence."""
    if str(path) == "-" or path.suffix.lower() not in (".yaml", ".yml", ".json") or not path.is_file():
        return None
    if path.stat().st_size > MAX_CASE_BYTES:
        return None
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        if not _may_be_case(text):
            return None
        data = parse_document(text)
    except CaseError as error:
        first = _FIRST_KEY.match(text)
        if error.repeats and first is not None and first[1] in CASE_KEYS:
            raise Problem("the case is not understood", f"{path}: {error}", errors=_errors(error)) from None
        return None
    except OSError:
        return None
    if not is_case(data):
        return None
    try:
        return case_from(data)
    except CaseError as error:
        raise Problem("the case is not understood", f"{path}: {error}", errors=_errors(error)) from None


def _may_be_case(text: str) -> bool:
    """Whether a document must be parsed to know: not if it begins with another key than a case and has no ``case``.

    Evidence is parsed by its reader anyway, and a metrics file of some megabytes need not be parsed twice.
    """
    first = _FIRST_KEY.match(text)
    return first is None or first[1] in CASE_KEYS or _CASE_KEY.search(text) is not None


def _errors(error: CaseError) -> list[dict[str, str]]:
    return [{"pointer": where, "detail": reason} for where, reason in error.problems]


def _expand(path: Path) -> list[tuple[str, Path]]:
    """The files of a folder in order, hidden ones left out; links are not followed out of it."""
    try:
        path.lstat()
    except OSError as error:
        raise Problem("no such file", f"{path}: {error.strerror}") from None
    if not path.is_dir():
        return [(path.name, path)]
    found = []
    for folder, names, entries in os.walk(path, followlinks=False):
        names[:] = sorted(name for name in names if not name.startswith("."))
        found += [Path(folder) / entry for entry in sorted(entries) if not entry.startswith(".")]
        if len(found) > MAX_FILES:
            raise Problem("too many files", f"{path} holds more than {MAX_FILES} files; name the ones that matter")
    return [(str(file.relative_to(path)), file) for file in found if file.is_file() and not file.is_symlink()]


def _with_options(case: Case, report: str, facts: Sequence[str], paradigm: str | None) -> Case:
    """The case with what the options add: ids go to facts, any other name to observations."""
    body: dict[str, Any] = case.model_dump(exclude_unset=True)
    if report:
        body["report"] = f"{case.report}\n\n{report}".strip()
    if paradigm:
        body["paradigm"] = paradigm
    for item in facts:
        name, separator, value = item.partition("=")
        if not separator or not name.strip():
            raise Problem("not a fact", f"--fact {item!r}: write it as NAME=VALUE")
        body.setdefault("observations", []).append({"name": name.strip(), "value": value.strip()})
    try:
        return case_from(body) if body else case
    except CaseError as error:
        raise Problem("the options do not make a case", str(error)) from None
