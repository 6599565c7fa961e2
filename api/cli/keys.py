"""``traintriage keys``: make, list, rotate and revoke the API keys of a service."""

from __future__ import annotations

import datetime
import json
import re
import time
from typing import TYPE_CHECKING, Any

import click

from api.cli import Problem
from api.cli.store import STORE, write_store
from api.reports.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from api.access.keys import Key

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_UNITS = {"m": 60, "h": 3600, "d": 86_400}
_TENANT = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Duration(click.ParamType[Any]):
    """``30m``, ``24h``, ``90d`` as seconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        written = re.fullmatch(r"(\d{1,6})([mhd])", str(value))
        if written is None:
            self.fail("write it as 30m, 24h or 90d", param, ctx)
        return int(written[1]) * _UNITS[written[2]]


class Expiry(Duration):
    """The same, or ``never``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return None if value == "never" else super().convert(value, param, ctx)


_EXPIRES = click.option(
    "--expires", type=Expiry(), default="90d", show_default=True, help="How long it is good: 30m, 24h, 90d or never."
)


@click.group("keys")
def command() -> None:
    """API keys of the service. A key is shown once, when it is made; the store holds only a hash of it."""


@command.command("create")
@click.option("--name", required=True, help="Who or what will use it; at most 100 characters.")
@click.option("--scope", "scopes", multiple=True, required=True, help="What it may do; again for more, or 'all'.")
@click.option("--tenant", default="default", show_default=True, help="Whose cases and audits it sees.")
@_EXPIRES
@STORE
@_JSON
def create(
    name: str, scopes: Sequence[str], tenant: str, expires: float | None, store: str | None, as_json: bool
) -> None:
    """Make a key and print it."""
    from api.access import Scope, keys

    unknown = sorted(set(scopes) - set(Scope) - {"all"})
    if unknown:
        raise Problem("no such scope", f"{', '.join(unknown)}; there are {', '.join(Scope)} and all")
    if not 0 < len(name) <= 100 or visible(name) != name:
        raise Problem("wrong use", "--name takes 1 to 100 printable characters")
    if not _TENANT.fullmatch(tenant):
        raise Problem("wrong use", "--tenant takes 1 to 64 letters, digits, dots, underscores and hyphens")
    granted = tuple(Scope) if "all" in scopes else tuple(map(Scope, scopes))
    now = time.time()
    expiry = None if expires is None else now + expires
    key, token = write_store(
        store, lambda c: keys.create(c, tenant=tenant, name=name, scopes=granted, expiry=expiry, now=now)
    )
    _show_once(key, token, as_json)


@command.command("list")
@STORE
@_JSON
def show(store: str | None, as_json: bool) -> None:
    """Print what is known of every key; the keys themselves are not."""
    from api.access import keys

    now = time.time()
    found = write_store(store, keys.every)
    if as_json:
        click.echo(json.dumps({"keys": [_document(key, now) for key in found]}, ensure_ascii=False, indent=2))
        return
    for key in found:
        used = f"used {_day(key.last_used)}" if key.last_used else "never used"
        end = f"until {_day(key.expiry)}" if key.expiry else "no end"
        click.echo(
            visible(f"{key.id}  {key.state(now):8}{end:18}{used:18}{key.tenant}  {key.name}  {' '.join(key.scopes)}")
        )


@command.command("rotate")
@click.argument("key_id", metavar="ID")
@click.option(
    "--overlap", type=Duration(), default="24h", show_default=True, help="How long the old one is still good."
)
@_EXPIRES
@STORE
@_JSON
def rotate(key_id: str, overlap: float, expires: float | None, store: str | None, as_json: bool) -> None:
    """Give a key a new secret and print it. Id, name, scopes and tenant stay."""
    from api.access import keys

    now = time.time()
    expiry = None if expires is None else now + expires
    key, token = _on_valid(key_id, store, lambda c: keys.rotate(c, key_id, overlap=overlap, expiry=expiry, now=now))
    _show_once(key, token, as_json)


@command.command("revoke")
@click.argument("key_id", metavar="ID")
@STORE
@_JSON
def revoke(key_id: str, store: str | None, as_json: bool) -> None:
    """End a key. Running services see it within seconds."""
    from api.access import keys

    _on_valid(key_id, store, lambda c: keys.revoke(c, key_id, now=time.time()))
    click.echo(json.dumps({"id": key_id, "state": "revoked"}) if as_json else f"{key_id} is revoked")


def _on_valid(key_id: str, store: str | None, work: Callable[[Connection], Any]) -> Any:
    from api.access.keys import NoSuchKeyError

    try:
        return write_store(store, work)
    except NoSuchKeyError:
        detail = f"{visible(key_id)} is not the id of a valid key; traintriage keys list shows those there are"
        raise Problem("no such key", detail) from None


def _show_once(key: Key, token: str, as_json: bool) -> None:
    """The key alone on standard output, so that a script can take it; the rest is for the reader."""
    if as_json:
        click.echo(json.dumps({**_document(key, time.time()), "key": token}, ensure_ascii=False, indent=2))
        return
    end = f"until {_day(key.expiry)}" if key.expiry else "without end"
    click.echo(f"Key {key.id} of tenant {key.tenant}, {end}: {' '.join(key.scopes)}. It is not shown again.", err=True)
    click.echo(token)


def _document(key: Key, now: float) -> dict[str, Any]:
    times = ("created", "expiry", "revoked", "last_used", "old_expiry")
    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "scopes": key.scopes,
        "state": key.state(now),
        **{name: None if getattr(key, name) is None else _moment(getattr(key, name)) for name in times},
    }


def _moment(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _day(seconds: float) -> str:
    return _moment(seconds)[:10]
