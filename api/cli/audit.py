"""``traintriage audit``: may this checkpoint go out?"""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from api.cli import FOUND, INCOMPLETE, NOTHING_TO_DO, Problem
from engine.audit.checkpoint import Checkpoint
from engine.audit.decide import Auditor, UnknownPolicyError
from engine.audit.folder import Folder, UnreadableError
from engine.audit.intent import Intent, IntentError, parse_intent
from engine.knowledge.load import load_knowledge

_EXIT = {"pass": 0, "fail": FOUND, "incomplete": INCOMPLETE}


@click.command("audit")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--intent", "intent_file", type=click.Path(path_type=Path, dir_okay=False), help="The declared intent.")
@click.option("--base", type=click.Path(path_type=Path, file_okay=False), help="The checkpoint it was trained from.")
@click.option("--policy", help="Id of a policy of the knowledge base.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(directory: Path, intent_file: Path | None, base: Path | None, policy: str | None, as_json: bool) -> None:
    """Audit the checkpoint in DIRECTORY."""
    try:
        folder = Folder.of(directory)
        intent = parse_intent(intent_file.read_bytes(), str(intent_file)) if intent_file else Intent()
        based = Checkpoint(Folder.of(base)) if base else None
    except (UnreadableError, IntentError, OSError) as error:
        raise Problem("cannot audit", str(error)) from None
    if not folder.files():
        raise Problem("nothing to audit", f"{directory} holds no file", NOTHING_TO_DO)
    checkpoint = Checkpoint(folder, intent, intent_file.parent if intent_file else None, based, {})
    auditor = Auditor(load_knowledge())
    try:
        result = auditor.audit(checkpoint, policy=policy, today=datetime.datetime.now(datetime.UTC).date())
    except UnknownPolicyError as error:
        raise Problem("unknown policy", str(error)) from None
    finally:
        auditor.close()
    click.echo(result.model_dump_json(indent=1) if as_json else result.summary)
    raise SystemExit(_EXIT[result.verdict])
