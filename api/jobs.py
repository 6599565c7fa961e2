"""The worker: runs the jobs of the store, each at least once, beside those of other processes.

A job belongs to the worker that took it until its lease ends. The worker renews that while it runs the job, so no job
is run twice at once; if the process dies, somebody runs the job again when the lease is over. A handler that raises is
tried again after a growing pause, and after the last try the job is kept as dead.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge

from api.store import jobs
from api.store.jobs import Job

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from structlog.typing import FilteringBoundLogger

    from api.store import Store

Handler = Callable[[Job], Awaitable[None]]
ERROR_LENGTH = 500


@dataclass(frozen=True)
class Pace:
    """Times in seconds, and how many tries.

    Args:
        lease: how long a job belongs to its worker; far more than clocks of replicas differ.
        renew: between two renewals of the leases of jobs that run; a few of them fit into ``lease``.
        run: how long a handler may take.
        poll: pause between two looks into the queue.
        pause: before the second try; it doubles each time, up to ``longest_pause``.
        attempts: tries before a job is dead; with these pauses, spread over about two hours.
        at_once: jobs that one process runs at a time.
        of_a_kind: those of them of one kind, so that a receiver that does not answer holds up nothing else.
        count: between two counts of the queue for the metrics.
    """

    lease: float = 20.0
    renew: float = 5.0
    run: float = 100.0
    poll: float = 0.5
    pause: float = 5.0
    longest_pause: float = 3600.0
    attempts: int = 12
    at_once: int = 6
    of_a_kind: int = 3
    count: float = 10.0


class Worker:
    """Runs jobs while it is started. ``handlers`` may still grow after the start."""

    def __init__(
        self,
        store: Store,
        handlers: Mapping[str, Handler],
        registry: CollectorRegistry,
        logger: FilteringBoundLogger,
        pace: Pace | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._handlers = handlers
        self._logger = logger
        self._pace = pace or Pace()
        self._clock = clock
        self._awake = asyncio.Event()
        self._closing = False
        self._loop: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._running: dict[asyncio.Task[None], Job] = {}
        self._counted = float("-inf")
        self._queue = Gauge(
            "traintriage_jobs",
            "Jobs by state: waiting (or running) and dead.",
            ("state",),
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        self._runs = Counter("traintriage_job_runs", "Runs of jobs.", ("kind", "outcome"), registry=registry)

    def start(self) -> None:
        """Begin to run jobs on the running event loop."""
        self._loop = asyncio.create_task(self._work())
        self._renewing = asyncio.create_task(self._renew())

    def wake(self) -> None:
        """Look for jobs now and not only after the pause: called by who has just ordered one."""
        self._awake.set()

    async def close(self) -> None:
        """Stop; jobs under way are cut short and handed back."""
        self._closing = True
        self._awake.set()
        if self._loop is not None:
            await self._loop
            await asyncio.sleep(0)  # a task that never began could not hand its job back
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)

    async def _work(self) -> None:
        while not self._closing:
            self._awake.clear()
            job = None
            pause = self._pace.poll
            try:
                await self._count()
                job = await self._claim()
            except Exception as error:  # noqa: BLE001 - a store that is away for a while must not end the worker
                self._logger.error("jobs cannot be read", reason=_told(error))
                pause = self._pace.pause
            if job is not None:
                task = asyncio.create_task(self._run(job))
                self._running[task] = job
                task.add_done_callback(self._ended)
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._awake.wait(), pause)

    async def _renew(self) -> None:
        """Keep the jobs that run, until the end."""
        while True:
            await asyncio.sleep(self._pace.renew)
            if not self._running:
                continue
            leases = [job.lease for job in self._running.values()]
            until = self._clock() + self._pace.lease
            try:
                await self._store.run(partial(jobs.renew, leases=leases, until=until))
            except Exception as error:  # noqa: BLE001 - the next renewal may come in time
                self._logger.error("leases of jobs not renewed", reason=_told(error))

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._awake.set()

    async def _claim(self) -> Job | None:
        pace, now = self._pace, self._clock()
        running = [job.kind for job in self._running.values()]
        kinds = tuple(kind for kind in self._handlers if running.count(kind) < pace.of_a_kind)
        if len(running) >= pace.at_once or not kinds:
            return None
        if not await self._store.read(lambda connection: jobs.any_due(connection, kinds, now)):
            return None
        return await self._store.run(
            lambda connection: jobs.claim(connection, kinds, now=now, seconds=pace.lease, attempts=pace.attempts)
        )

    async def _run(self, job: Job) -> None:
        try:
            async with asyncio.timeout(self._pace.run):
                await self._handlers[job.kind](job)
        except (Exception, asyncio.CancelledError) as error:
            if self._closing and isinstance(error, asyncio.CancelledError):
                outcome, end = "cut short", partial(jobs.hand_back, job=job, due=self._clock())
            else:
                self._logger.error("job failed", kind=job.kind, job=job.id, attempts=job.attempts, exc_info=error)
                outcome, end = self._failed(job, _told(error))
        else:
            outcome, end = "done", partial(jobs.finish, job=job)
        self._runs.labels(job.kind, outcome).inc()
        try:
            await self._store.run(end)
        except Exception as error:  # noqa: BLE001 - the job is run again when its lease ends
            self._logger.error("end of a job not written down", kind=job.kind, job=job.id, reason=_told(error))

    def _failed(self, job: Job, error: str) -> tuple[str, partial[None]]:
        if job.attempts >= self._pace.attempts:
            return "dead", partial(jobs.bury, job=job, error=error)
        due = self._clock() + self._pause_after(job.attempts)
        return "failed", partial(jobs.postpone, job=job, due=due, error=error)

    def _pause_after(self, attempts: int) -> float:
        """Grows with the tries; with chance in it, so that jobs that failed together do not come back together."""
        longest = min(self._pace.pause * 2.0 ** (attempts - 1), self._pace.longest_pause)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret

    async def _count(self) -> None:
        now = self._clock()
        if now - self._counted >= self._pace.count:
            self._counted = now
            for state, number in (await self._store.read(jobs.counts)).items():
                self._queue.labels(state).set(number)


def _told(error: BaseException) -> str:
    # PostgreSQL has no text with a zero byte in it.
    return f"{type(error).__name__}: {error}".replace("\0", "")[:ERROR_LENGTH]
