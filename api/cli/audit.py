"""``traintriage audit``: may this checkpoint go out?"""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from api.cli import FOUND, INCOMPLETE, NOTHING_TO_DO, Problem, language_of_terminal
from api.cli.audit_progress import watching
from engine.audit.decide import Auditor, UnknownPolicyError
from engine.audit.folder import UnreadableError
from engine.audit.given import NothingToAuditError, checkpoint_of
from engine.audit.intent import IntentError
from engine.audit.template.reading import begin
from engine.knowledge.cache import cache_folders
from engine.knowledge.load import load_knowledge
from engine.knowledge.problems import KbError

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.model.audit import AuditResult
    from engine.model.base import Lang

EXIT: Mapping[str, int] = MappingProxyType({"pass": 0, "fail": FOUND, "incomplete": INCOMPLETE})
_BY_ENDING: Mapping[str, str] = MappingProxyType(
    {".json": "json", ".sarif": "sarif", ".xml": "junit", ".html": "html", ".htm": "html"}
)
_BESIDE = ("verify", "keygen")


class _AuditCommand(click.Command):
    """The command itself, and those whose name stands in place of its folder (``./verify`` is a folder)."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in _BESIDE:
            import importlib

            beside: click.Command = getattr(importlib.import_module("api.cli.audit_verify"), args[0])
            return beside.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(
    "audit",
    cls=_AuditCommand,
    epilog="Beside it: 'traintriage audit keygen' makes a key, 'traintriage audit verify' checks an attestation.",
)
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--intent", type=click.Path(path_type=Path), help="The declared intent, YAML or JSON.")
@click.option("--base", type=click.Path(path_type=Path), help="The checkpoint it was trained from; else the intent's.")
@click.option("--evals", type=click.Path(path_type=Path), help="Results of its evaluations, a file or a folder.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Results of what it is compared with.")
@click.option("--policy", help="Id of a policy of the knowledge base; else the one that fits best.")
@click.option("--json", "forms", flag_value="json", multiple=True, help="Print one JSON document.")
@click.option("--sarif", "forms", flag_value="sarif", multiple=True, help="Print SARIF 2.1.0.")
@click.option("--junit", "forms", flag_value="junit", multiple=True, help="Print JUnit XML.")
@click.option("--github", is_flag=True, help="Print annotations for GitHub Actions below the report.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the report as a page.")
@click.option(
    "--output",
    "outputs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Write here what would be printed; without a form the ending tells: .json .sarif .xml .html. Repeatable.",
)
@click.option("--lang", type=click.Choice(["en", "zh"]), default=None, help="Language of the report.")
@click.option("--overlay", type=click.Path(path_type=Path), help="A site's own knowledge: gates, policies.")
@click.option("--verbose", "-v", is_flag=True, help="Also list what passed, and why the rest could not be judged.")
@click.option("--key", type=click.Path(path_type=Path), help="Private Ed25519 key (PEM) that signs the attestation.")
@click.option("--attest", type=click.Path(path_type=Path), help="Write a signed attestation here; needs --key.")
@click.option("--no-cache", is_flag=True, help="Read every byte, also of files that did not change since.")
def command(
    directory: Path,
    intent: Path | None,
    base: Path | None,
    evals: Path | None,
    baseline: Path | None,
    policy: str | None,
    forms: tuple[str, ...],
    github: bool,
    html: Path | None,
    outputs: tuple[Path, ...],
    lang: Lang | None,
    overlay: Path | None,
    verbose: bool,
    key: Path | None,
    attest: Path | None,
    no_cache: bool,
) -> int:
    """Audit the checkpoint in DIRECTORY: pass, fail or not enough evidence, gate by gate.

    Exit codes: 0 pass, 1 fail, 2 wrong use, 3 incomplete, 4 nothing to audit, 70 internal.
    """
    form = _one_form(forms)
    files = _files_to_write(form, outputs, html)
    if github and form and not outputs:
        raise Problem("wrong use", f"--github and --{form} both print: write one of them with --output FILE")
    if (attest is None) != (key is None):
        raise Problem("wrong use", "--attest FILE and --key FILE go together")
    for file in (*files, *([attest] if attest else [])):
        if file.is_dir() or not file.absolute().parent.is_dir():
            raise Problem("cannot write", f"{file}: there is no such folder, or it is one")
    language = lang or language_of_terminal()
    with watching() as watch:
        # What is signed was read by the one who signs it.
        cache = None if no_cache or attest else cache_folders()[0] / "scans"
        with _told_as_problems():
            checkpoint = checkpoint_of(directory, intent, base, evals, baseline, cache, progress=watch.advance)
        watch.expect(checkpoint)
        result = _decided(checkpoint, policy, overlay, language)
    faces = _Faces(result, language, _relative(directory))
    if attest and key:
        _write(attest, _attestation(result, key))
    for file, shape in files.items():
        _write(file, faces.text(shape).encode())
    faces.print(None if outputs else form, github, verbose)
    return EXIT[result.verdict]


@contextmanager
def _told_as_problems() -> Iterator[None]:
    try:
        yield
    except NothingToAuditError as error:
        raise Problem("nothing to audit", str(error), NOTHING_TO_DO) from None
    except IntentError as error:
        raise Problem("the intent cannot be used", str(error)) from None
    except (UnreadableError, OSError) as error:
        raise Problem("cannot audit", str(error)) from None


def _decided(checkpoint: Checkpoint, policy: str | None, overlay: Path | None, lang: Lang) -> AuditResult:
    begin(checkpoint)  # a process of its own, which gets ready while the knowledge is loaded
    try:
        auditor = Auditor(load_knowledge(overlay=overlay))
    except (KbError, OSError) as error:
        raise Problem("the knowledge base does not load", str(error)) from None
    try:
        return auditor.audit(checkpoint, policy=policy, today=datetime.datetime.now(datetime.UTC).date(), lang=lang)
    except UnknownPolicyError as error:
        known = ", ".join(sorted(auditor.knowledge.policies))
        raise Problem("unknown policy", f"{error.args[0]!r} is none of {known}") from None
    finally:
        auditor.close()


class _Faces:
    """One result in every form."""

    def __init__(self, result: AuditResult, lang: Lang, directory: str) -> None:
        self._result = result
        self._lang: Lang = lang
        self._directory = directory

    def text(self, form: str) -> str:
        """The whole document in that form."""
        if form == "json":
            return self._result.model_dump_json(indent=2) + "\n"
        if form == "sarif":
            from api.reports.sarif import sarif

            return sarif(self._result, self._lang, EXIT[self._result.verdict], self._directory) + "\n"
        if form == "junit":
            from api.reports.junit import junit

            return junit(self._result, self._lang)
        from api.reports.page import page

        return page(self._result, self._lang)

    def print(self, form: str | None, github: bool, verbose: bool) -> None:
        """What goes to standard output."""
        if form is not None:
            click.echo(self.text(form), nl=False)
            return
        # Between these two lines the runner takes nothing for a command, whatever a file of the checkpoint is called.
        token = secrets.token_hex(16)
        if github:
            click.echo(f"::stop-commands::{token}")
        from api.render import console
        from api.reports.terminal import render_audit

        render_audit(self._result, self._lang, console(), verbose)
        if github:
            from api.reports.annotations import workflow_commands

            click.echo(f"::{token}::")
            click.echo(workflow_commands(self._result, self._lang, self._directory), nl=False)


def _one_form(forms: tuple[str, ...]) -> str | None:
    several = " and ".join(f"--{form}" for form in dict.fromkeys(forms))
    if " and " in several:
        raise Problem("wrong use", f"{several} both print: write one of them with --output FILE")
    return forms[0] if forms else None


def _files_to_write(form: str | None, outputs: tuple[Path, ...], html: Path | None) -> dict[Path, str]:
    files: dict[Path, str] = {html: "html"} if html else {}
    for path in outputs:
        shape = form or _BY_ENDING.get(path.suffix.lower())
        if shape is None:
            raise Problem("wrong use", f"--output {path}: end it with {', '.join(_BY_ENDING)}, or name a form (--json)")
        files[path] = shape
    return files


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise Problem("cannot write", f"{path}: {error.strerror}") from None


def _attestation(result: AuditResult, key: Path) -> bytes:
    from engine.audit.attest import attest
    from engine.audit.signing import AttestError

    try:
        return attest(result, key.read_bytes())
    except (AttestError, OSError) as error:
        raise Problem("cannot attest", str(error)) from None


def _relative(directory: Path) -> str:
    """The folder as seen from where the pipeline runs; empty if it lies elsewhere."""
    here, there = Path.cwd(), Path(os.path.normpath(directory.absolute()))
    return there.relative_to(here).as_posix() if there.is_relative_to(here) else ""
