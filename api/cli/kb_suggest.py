"""``traintriage kb suggest``: what resolved cases have to teach, as files for review."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml
from rich.markup import escape
from rich.table import Table

from api.cli import NOTHING_TO_DO, Problem
from api.cli.store import STORE, read_store
from api.render import console
from engine.knowledge.load import load_knowledge
from engine.knowledge.problems import KbError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from api.cases.suggest import Drift, Suggestion
    from engine.knowledge.knowledge import Knowledge


@click.command("suggest")
@STORE
@click.option("--tenant", default="default", show_default=True, help="Whose cases.")
@click.option(
    "--root", type=click.Path(path_type=Path, exists=True, file_okay=False), help="The knowledge base's folder."
)
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), help="Write case files into this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(store: str | None, tenant: str, root: Path | None, output: Path | None, as_json: bool) -> int:
    """Turn resolved cases into case files for review, and show how far the calibration has drifted.

    OUTPUT/incidents holds one file a case, as `kb score` reads them; OUTPUT/examples the same as examples for the
    file beside each cause; OUTPUT/unknown the cases for which the knowledge base has no cause. Nothing in the
    knowledge base is changed: a person reads them, takes out what must not leave the house, and moves them.
    """
    from api.cases.suggest import closed_cases, drift, suggest
    from engine.diagnose import Diagnoser

    closed = read_store(store, lambda connection: closed_cases(connection, tenant))
    if not closed:
        raise Problem("nothing to suggest", f"the store holds no resolved case of tenant {tenant}", NOTHING_TO_DO)
    try:
        knowledge = load_knowledge(root)
    except KbError as error:
        raise Problem("the knowledge base does not load", str(error)) from None
    diagnoser = Diagnoser(knowledge, check=False, keep=True)
    try:
        suggestions = [suggest(case, diagnoser) for case in closed]
    finally:
        diagnoser.close()
    if output is not None:
        _write(output, suggestions)
    told = drift(suggestions)
    if as_json:
        document = {
            "cases": [{**asdict(s), "document": s.document} for s in suggestions],
            "drift": asdict(told) if told else None,
        }
        click.echo(json.dumps(document, ensure_ascii=False, allow_nan=True))
    else:
        _tell(suggestions, told, knowledge)
    return 0


def _write(folder: Path, suggestions: Sequence[Suggestion]) -> None:
    from api.cases.suggest import by_cause, example

    for suggestion in suggestions:
        kind = "incidents" if suggestion.document["truth"]["family"] else "unknown"
        _dump(folder / kind / f"{suggestion.id}.yaml", suggestion.document)
    for cause, group in by_cause(suggestions):
        _dump(folder / "examples" / f"{cause}.cases.yaml", [example(suggestion) for suggestion in group])


def _dump(path: Path, data: Any) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=120), "utf-8")
    except OSError as error:
        raise Problem("cannot write", f"{path}: {error.strerror}") from None


def _tell(suggestions: Sequence[Suggestion], told: Drift | None, knowledge: Knowledge) -> None:
    from api.cases.suggest import by_cause

    out = console()
    table = Table("case", "confirmed cause", "told", "place then", "place now", "left out")
    for s in suggestions:
        places = [str(place) if place else "-" for place in (s.then, s.now)]
        cells = (s.title[:50], s.cause or "not in the knowledge base", f"{s.told:.0%}", *places, ", ".join(s.left_out))
        table.add_row(*map(escape, cells))
    out.print(table)
    priors = Table("cause", "confirmed", "prior in the knowledge base")
    for cause, group in by_cause(suggestions):
        prior = knowledge.causes[cause].prior if cause in knowledge.causes else "gone"
        priors.add_row(cause, str(len(group)), prior)
    out.print(priors)
    if told is not None:
        out.print(
            f"Told on average {told.told:.0%}, right in {told.right:.0%} of {told.count}; "
            f"ECE {told.ece:.2f}, Brier {told.brier:.2f}. Priors and weights change by review alone: see kb/README.md."
        )
