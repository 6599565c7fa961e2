"""``traintriage kb``: the tools of those who write the knowledge base."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from api.cli import FOUND, NOTHING_TO_DO, Problem, kb_score, kb_suggest
from api.cli.kb_options import json_option, knowledge_below, root_option
from engine.diagnose import Diagnoser
from engine.evaluate.cases import name_of, run_cases, with_drafts
from engine.knowledge.files import default_root
from engine.knowledge.load import OwnedCase, load_cases, load_knowledge
from engine.knowledge.problems import KbError
from engine.model.base import Lang, Text


@click.group("kb")
def command() -> None:
    """Check, test, extend and measure the knowledge base."""


command.add_command(kb_suggest.command)
command.add_command(kb_score.score_command)
command.add_command(kb_score.fit_command)


@command.command("lint")
@root_option
@json_option
@click.option("--errors-only", is_flag=True, help="Leave warnings out.")
def lint_command(root: Path | None, as_json: bool, errors_only: bool) -> int:
    """Rules about rules: references, types, limits, texts, examples, ids. Exits with 1 if there is an error."""
    from engine.evaluate.pinned import unpinned
    from engine.knowledge.lint import RULES, lint

    rules = [rule for rule in RULES if rule.severity == "error" or not errors_only]
    try:
        issues = lint(root, rules=rules)
        if not errors_only and all(issue.severity == "warning" for issue in issues):
            issues = sorted([*issues, *unpinned(root)])
    except KbError as error:
        raise Problem("the knowledge base cannot be read", str(error), FOUND) from None
    errors = sum(issue.severity == "error" for issue in issues)
    if as_json:
        click.echo(json.dumps([{**asdict(issue), "file": str(issue.file)} for issue in issues], ensure_ascii=False))
    else:
        for issue in issues:
            click.echo(f"{issue.file}:{issue.line}: {issue.code} {issue.severity}: {issue.message}\n    {issue.hint}")
        click.echo(f"{errors} errors, {len(issues) - errors} warnings")
    return FOUND if errors else 0


@command.command("test")
@root_option
@json_option
@click.option("--only", default="", help="Only examples whose name holds this, e.g. a cause's id.")
@click.option("--verbose", "-v", is_flag=True, help="Also print what each failing example made of it.")
def test_command(root: Path | None, as_json: bool, only: str, verbose: bool) -> int:
    """Run the examples beside the causes and the healthy runs. Exits with 1 if one comes out differently."""
    diagnoser = Diagnoser(with_drafts(knowledge_below(root)))
    try:
        results = list(run_cases(diagnoser, (owned for owned in load_cases(root) if only in name_of(owned))))
    except KbError as error:
        raise Problem("the examples do not load", str(error), FOUND) from None
    finally:
        diagnoser.close()
    if not results:
        raise Problem("no example to run", f"none has {only!r} in its name", NOTHING_TO_DO)
    failed = [result for result in results if result.failures]
    if as_json:
        click.echo(json.dumps([{"case": r.name, "failures": r.failures} for r in results], ensure_ascii=False))
    else:
        for result in failed:
            click.echo(f"{result.owned.file}:{result.owned.line}: {result.name}")
            for failure in result.failures:
                click.echo(f"    {failure}")
            if verbose and result.diagnosis is not None:
                click.echo(f"    findings: {', '.join(f.id for f in result.diagnosis.findings)}")
        click.echo(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return FOUND if failed else 0


@command.command("new")
@click.argument("cause")
@click.option("--family", required=True, help="One of kb/families.yaml.")
@click.option("--title", required=True, help="What is wrong, in English.")
@click.option("--title-zh", required=True, help="The same in Chinese.")
@click.option("--with-mechanism", is_flag=True, help="Also make a finding that proves the cause, and its check.")
@root_option
def new_command(cause: str, family: str, title: str, title_zh: str, with_mechanism: bool, root: Path | None) -> None:
    """Make a cause (AREA/NAME) with its examples: files that lint accepts and `kb test` runs, ready to be filled in."""
    from engine.knowledge.author import AuthorError, new_cause

    try:
        paths = new_cause(root or default_root(), cause, family, Text(en=title, zh=title_zh), with_mechanism)
    except (AuthorError, KbError, OSError) as error:
        raise Problem("the cause was not made", str(error)) from None
    for path in paths:
        click.echo(path)


@command.command("explain")
@click.argument("id_", metavar="ID")
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en")
@root_option
def explain_command(id_: str, lang: Lang, root: Path | None) -> None:
    """A page about any object: a cause, finding, fact, check or gate."""
    from engine.knowledge.pages import UnknownObjectError, explain

    try:
        click.echo(explain(knowledge_below(root), id_, lang))
    except UnknownObjectError as error:
        raise Problem("no such object", str(error)) from None


@command.command("catalogue")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en")
@root_option
def catalogue_command(folder: Path, lang: Lang, root: Path | None) -> None:
    """Write a Markdown page for every cause, check, gate and finding into FOLDER, with an index (for MkDocs)."""
    from engine.knowledge.catalogue import catalogue

    pages = catalogue(knowledge_below(root), lang)
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    click.echo(f"{len(pages)} pages in {folder}")


@command.command("stats")
@root_option
@json_option
def stats_command(root: Path | None, as_json: bool) -> None:
    """How many objects of each kind, and what is covered."""
    from engine.knowledge.stats import stats

    numbers = asdict(stats(knowledge_below(root)))
    if as_json:
        click.echo(json.dumps(numbers, ensure_ascii=False, indent=2))
        return
    for name, value in numbers.items():
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        shown = ", ".join(shown) if isinstance(shown, tuple) else shown
        click.echo(
            f"{name.replace('_', ' ')}: {shown:.1f}"
            if isinstance(shown, float)
            else f"{name.replace('_', ' ')}: {shown}"
        )


@command.command("schema")
@click.option("--check", is_flag=True, help="Only say whether the committed schemas are fresh.")
@root_option
def schema_command(check: bool, root: Path | None) -> int:
    """Write the JSON Schemas for editors, generated from the models, to kb/schema/."""
    from engine.knowledge.schema import stale_schemas, write_schemas

    if check:
        stale = stale_schemas(root or default_root())
        for path in stale:
            click.echo(f"{path} is stale; run `traintriage kb schema`")
        click.echo(f"{len(stale)} stale schemas")
        return FOUND if stale else 0
    for path in write_schemas(root or default_root()):
        click.echo(path)
    return 0


@command.command("lock")
@root_option
def lock_command(root: Path | None) -> None:
    """Add the ids that are new to ids.lock. One that was locked may only go by way of retired/: see `kb lint`."""
    from engine.knowledge.ids import write_lock

    try:
        added = write_lock(root or default_root())
    except KbError as error:
        raise Problem("the ids were not locked", str(error), FOUND) from None
    for kind, id_ in added:
        click.echo(f"{kind} {id_}")
    click.echo(f"{len(added)} new ids")


@command.command("diff")
@click.argument("revision")
@root_option
@json_option
def diff_command(revision: str, root: Path | None, as_json: bool) -> None:
    """What changed since a git revision, its impact (patch, minor, major), and which examples move."""
    from engine.knowledge.diff import GitError, diff

    rankers: dict[Path, Diagnoser] = {}
    try:
        report = diff(root or default_root(), revision, rank=lambda at, owned: _rank(rankers, at, owned))
    except (GitError, KbError, OSError) as error:
        raise Problem("no comparison", str(error)) from None
    finally:
        for diagnoser in rankers.values():
            diagnoser.close()
    if as_json:
        document = {
            "impact": report.impact,
            "changes": [asdict(change) for change in report.changes],
            "moves": [{"case": name_of(m.case), "before": m.before, "after": m.after} for m in report.moves],
            "problems": [asdict(problem) for problem in report.problems],
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))
        return
    click.echo(f"impact: {report.impact}")
    for change in report.changes:
        keys = f" ({', '.join(change.keys)})" if change.keys else ""
        click.echo(f"{change.impact:6} {change.what} {change.kind} {change.id}{keys}")
    if not report.moves:
        click.echo("no example moves")
    for move in report.moves:
        click.echo(f"moves: {name_of(move.case)}: rank {move.before or 'none'} -> {move.after or 'none'}")
    for problem in report.problems:
        click.echo(f"not read: {problem}")


def _rank(rankers: dict[Path, Diagnoser], root: Path, owned: OwnedCase) -> int | None:
    """The rank of an example's own cause in the knowledge base at ``root``; one engine for each of the two sides."""
    from engine.evidence.case_file import case_from

    if root not in rankers:
        rankers[root] = Diagnoser(load_knowledge(root, use_cache=False), check=False)
    ids = [cause.id for cause in rankers[root].diagnose(case_from(owned.case.case)).causes]
    return ids.index(owned.cause_id) + 1 if owned.cause_id in ids else None
