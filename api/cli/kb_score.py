"""``traintriage kb score`` and ``fit``: how good the answers are on labelled incidents, and the numbers behind them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click
from rich.progress import Progress
from rich.table import Table

from api.cli import NOTHING_TO_DO, Problem
from api.cli.kb_options import json_option, knowledge_below, root_option
from api.render import console
from engine.diagnose import Diagnoser
from engine.evaluate.fit import Example, FitResult
from engine.evaluate.harder import INPUTS, LeftOut, without
from engine.evaluate.harder import leave_family_out as left_out
from engine.evaluate.score import Figures, Graded, Incident, by, figures, grade_all, load_incidents
from engine.evidence.case_file import CaseError
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_cases


@click.command("score")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@root_option
@json_option
@click.option("--list", "list_all", is_flag=True, help="Also print every incident's result.")
@click.option(
    "--without",
    "inputs",
    type=click.Choice(INPUTS),
    multiple=True,
    help="Take this kind of input away first; repeat it.",
)
@click.option(
    "--leave-family-out", is_flag=True, help="Take away the causes of each incident's own family: unknown should lead."
)
def score_command(
    folder: Path,
    root: Path | None,
    as_json: bool,
    list_all: bool,
    inputs: tuple[str, ...],
    leave_family_out: bool,
) -> None:
    """Score the knowledge base on incidents with confirmed causes (files with `case` and `truth.family`)."""
    knowledge = knowledge_below(root)
    incidents = [replace(one, case=without(one.case, inputs)) for one in _incidents(folder)]
    diagnoser = Diagnoser(knowledge, keep=True)
    try:
        if leave_family_out:
            _print_left_out(left_out(incidents, diagnoser), as_json, list_all)
            return
        graded = grade_all(incidents, lambda case: diagnoser.diagnose(case, limit=50), knowledge)
    finally:
        diagnoser.close()
    tables = {
        "all": {"all": figures(graded)},
        "area": by(graded, lambda g: _area(knowledge, g.incident)),
        "difficulty": by(graded, lambda g: g.incident.difficulty),
        "covered": by(graded, lambda g: "covered" if _covered(knowledge, g.incident) else "family without a cause"),
    }
    if as_json:
        click.echo(json.dumps({k: {n: asdict(f) for n, f in t.items()} for k, t in tables.items()}, indent=2))
        return
    if list_all:
        _print_graded(graded)
    for title, rows in tables.items():
        _print_figures(title, rows)


def _print_left_out(results: Sequence[LeftOut], as_json: bool, list_all: bool) -> None:
    share = sum(result.abstained for result in results) / len(results)
    if as_json:
        rows = [
            {"id": r.incident.id, "family": r.incident.family, "first": r.first, "top": r.top, "unknown": r.unknown}
            for r in results
        ]
        click.echo(json.dumps({"count": len(results), "unknown_first": share, "incidents": rows}, indent=2))
        return
    for r in results if list_all else ():
        first = "unknown" if r.abstained else r.first
        click.echo(
            f"{r.incident.id}  {r.incident.family:32} first: {first}  {r.first} {r.top:.2f} unknown {r.unknown:.2f}"
        )
    click.echo(f"{len(results)} incidents, the causes of the true family taken away: unknown first in {share:.2f}")


def _incidents(folder: Path) -> list[Incident]:
    try:
        return load_incidents(folder)
    except CaseError as error:
        raise Problem("the incidents do not load", str(error)) from None


def _area(knowledge: Knowledge, incident: Incident) -> str:
    family = knowledge.families.get(incident.family)
    return family.area if family is not None else "?"


def _covered(knowledge: Knowledge, incident: Incident) -> bool:
    return any(cause.family == incident.family for cause in knowledge.active_causes.values())


def _print_graded(graded: Iterable[Graded]) -> None:
    for g in graded:
        place = f"rank {g.rank}" if g.rank else "not listed"
        linked = "" if g.linked else "  no linked finding"
        click.echo(
            f"{g.incident.id}  {g.incident.family:32} {place:11} {g.chance:.2f}  first: {g.first} {g.top:.2f}{linked}"
        )


def _print_figures(title: str, rows: dict[str, Figures]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(title)
    for heading in ("n", "top-1", "top-3", "MRR", "Brier", "ECE", "abstained", "no linked finding"):
        table.add_column(heading, justify="right")
    for name, f in rows.items():
        table.add_row(
            name, str(f.count), f"{f.top1:.2f}", f"{f.top3:.2f}", f"{f.mrr:.2f}", f"{f.brier:.2f}", f"{f.ece:.2f}",
            f"{f.abstained:.2f}", f"{f.silent:.2f}",
        )  # fmt: skip
    console().print(table)


@click.command("fit")
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False))
@root_option
@json_option
def fit_command(folder: Path | None, root: Path | None, as_json: bool) -> None:
    """Choose damping, temperature and known_share by cross-validation on the examples and, if given, incidents.

    Prints figures on held-out folds; writing the chosen numbers to kb/calibration.yaml is left to a person.
    """
    from engine.evaluate.fit import fit

    knowledge = knowledge_below(root)
    diagnoser = Diagnoser(knowledge, keep=True)
    try:
        examples = _examples(diagnoser, root) + (_incident_examples(diagnoser, folder) if folder else [])
        result = _timed(lambda: fit(examples, knowledge))
    except ValueError as error:
        raise Problem("nothing to fit on", str(error), NOTHING_TO_DO) from None
    finally:
        diagnoser.close()
    if as_json:
        click.echo(json.dumps(asdict(result), indent=2))
        return
    click.echo(f"{result.count} labelled cases, folds drawn by family")
    for name, row in (("as it is", result.present), ("held out", result.held_out)):
        click.echo(f"{name}: " + ", ".join(f"{key} {value:.3f}" for key, value in row.items()))
    click.echo("best on all: " + ", ".join(f"{key} {value:g}" for key, value in result.chosen.items()))


def _examples(diagnoser: Diagnoser, root: Path | None) -> list[Example]:
    from engine.evidence.case_file import case_from

    causes = diagnoser.knowledge.active_causes
    examples = []
    for owned in load_cases(root):
        if owned.cause_id in causes and owned.case.kind == "fires":
            observed = diagnoser.collect(case_from(owned.case.case))
            name = f"{owned.cause_id}::{owned.case.name}"
            family = causes[owned.cause_id].family
            alike = diagnoser.resemblance(observed, owned.cause_id)
            examples.append(Example(name, family, tuple(diagnoser.known(observed)), observed.paradigm, alike))
    return examples


def _incident_examples(diagnoser: Diagnoser, folder: Path) -> list[Example]:
    examples = []
    for incident in _incidents(folder):
        observed = diagnoser.collect(incident.case)
        examples.append(
            Example(
                incident.id,
                incident.family,
                tuple(diagnoser.known(observed)),
                observed.paradigm,
                diagnoser.resemblance(observed),
            )
        )
    return examples


def _timed(work: Callable[[], FitResult]) -> FitResult:
    """Show that something is going on: a fit takes a minute or two."""
    with Progress(transient=True, console=console()) as progress:
        progress.add_task("fitting", total=None)
        started = time.monotonic()
        result = work()
        progress.console.print(f"[dim]{time.monotonic() - started:.0f} s[/dim]")
    return result
