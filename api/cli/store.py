"""Work on the store from the command line, with errors for a person."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, TypeVar

import click

from api.cli import Problem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sqlalchemy import Connection

    from api.store import Store

T = TypeVar("T")
STORE = click.option("--store", metavar="URL", help="URL of the store. [default: TRAINTRIAGE_STORE_URL]")


def read_store(url: str | None, work: Callable[[Connection], T]) -> T:
    """What ``work`` reads in the store at ``url``, which is left as it is.

    Raises:
        Problem: if the store cannot be used.
    """
    return _with_store(url, lambda store: _reading(store, work))


def write_store(url: str | None, work: Callable[[Connection], T]) -> T:
    """What ``work`` comes to, in one transaction on the store at ``url``, which is made if it is not there.

    Raises:
        Problem: if the store cannot be used.
    """
    return _with_store(url, lambda store: _writing(store, work))


async def _reading(store: Store, work: Callable[[Connection], T]) -> T:
    await store.open()
    return await store.read(work)


async def _writing(store: Store, work: Callable[[Connection], T]) -> T:
    await store.start()
    return await store.run(work)


def _with_store(url: str | None, use: Callable[[Store], Awaitable[T]]) -> T:
    from api.settings import Settings, SettingsError
    from api.store import Store, StoreError

    _refuse_password(url)
    try:
        settings = Settings.from_env({"TRAINTRIAGE_STORE_URL": url} if url else os.environ)
    except SettingsError as error:
        raise Problem("wrong use", str(error)) from None

    async def once() -> T:
        store = Store(settings.store_url)
        try:
            return await use(store)
        finally:
            await store.close()

    try:
        return asyncio.run(once())
    except StoreError as error:
        raise Problem("the store cannot be used", str(error)) from None


def _refuse_password(url: str | None) -> None:
    """Other users of the machine see the arguments of a command."""
    from urllib.parse import urlsplit

    try:
        secret = bool(url and urlsplit(url).password)
    except ValueError:
        secret = False
    if secret:
        raise Problem("wrong use", "a URL with a password goes into TRAINTRIAGE_STORE_URL, not into an argument")
