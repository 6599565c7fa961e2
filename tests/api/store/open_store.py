"""A started store for the length of a block."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.store import Store


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[Store]:
    store = Store(url)
    try:
        await store.start()
        yield store
    finally:
        await store.close()
