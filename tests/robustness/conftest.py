"""A guard against endless work, and the collector over the bundled knowledge base."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

import pytest

from engine.diagnose import Diagnoser
from engine.evidence.collect import Collector

ENDLESS_CPU_SECONDS = 60
"""A reader needs milliseconds for any of these inputs; this is no budget but what nobody would wait for."""


@pytest.fixture(scope="session")
def ends() -> Callable[[], AbstractContextManager[None]]:
    """Return a context that fails, instead of hanging, once its body has used absurdly much time of the processor."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"still running after {ENDLESS_CPU_SECONDS} CPU seconds")

    @contextmanager
    def guard() -> Iterator[None]:
        before = signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS_CPU_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    return guard


@pytest.fixture(scope="session")
def collector(diagnoser: Diagnoser) -> Collector:
    """The collector over the bundled knowledge base."""
    return diagnoser.collector
