"""What the commands of ``traintriage kb`` have in common."""

from __future__ import annotations

from pathlib import Path

import click

from api.cli import FOUND, Problem
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_knowledge
from engine.knowledge.problems import KbError

root_option = click.option(
    "--root", type=click.Path(path_type=Path, exists=True, file_okay=False), help="The knowledge base's folder."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def knowledge_below(root: Path | None) -> Knowledge:
    """The knowledge base below ``root``, or the installed one.

    Raises:
        Problem: if it does not load.
    """
    try:
        return load_knowledge(root)
    except KbError as error:
        raise Problem("the knowledge base does not load", str(error), FOUND) from None
