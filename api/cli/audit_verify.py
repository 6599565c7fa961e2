"""``traintriage audit verify`` and ``keygen``: signed statements of audits."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import click

from api.cli import FOUND, Problem
from api.reports.text import visible
from engine.audit import attest, signing
from engine.audit.folder import Folder, UnreadableError


@click.command("verify")
@click.argument("envelope", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--key", required=True, type=click.Path(path_type=Path, dir_okay=False), help="Public key (PEM).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def verify(envelope: Path, directory: Path, key: Path, as_json: bool) -> None:
    """Hold the signed statement ENVELOPE against the files in DIRECTORY.

    Exit codes: 0 the signature is valid and every file is as audited, 1 it is not, 2 wrong use.
    """
    try:
        found = attest.verify(envelope.read_bytes(), Folder.of(directory), key.read_bytes())
    except (signing.AttestError, UnreadableError, OSError) as error:
        raise Problem("cannot verify", str(error)) from None
    if as_json:
        click.echo(json.dumps(asdict(found) | {"verified": not found.problems}))
    else:
        for problem in found.problems:
            click.echo(visible(problem))
        if not found.problems:
            click.echo(f"Verified: {found.files} files are as audited; the verdict was {found.verdict}.")
    raise SystemExit(FOUND if found.problems else 0)


@click.command("keygen")
@click.argument("path", type=click.Path(path_type=Path))
def keygen(path: Path) -> None:
    """Write a new Ed25519 key to PATH, for its owner alone, and the public key to PATH.pub."""
    private, public = signing.keygen()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(private)
        with path.with_name(path.name + ".pub").open("xb") as stream:
            stream.write(public)
    except OSError as error:
        raise Problem("cannot write the key", f"{path}: {error.strerror}") from None
    click.echo(f"{path} (keep it secret) and {path}.pub")
