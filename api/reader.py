"""A process that reads large cases, so that the event loop does not have to, and that tries out new knowledge."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from api.messages import say
from api.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from api.submission import Submission
    from engine.diagnose import Diagnoser
    from engine.knowledge.knowledge import Knowledge


@dataclass(frozen=True)
class Source:
    """Where knowledge and engine come from; both can be passed to another process.

    The engine is a diagnoser, or in the auditing process an auditor; a job knows which.
    """

    load: Callable[[], Knowledge]
    build: Callable[[Knowledge], Any]


class Job(Protocol):
    """Something to do in the reading process; can be passed to it."""

    def __call__(self, engine: Any, /) -> Any:
        """Do it."""


class ReaderError(Exception):
    """The reading process failed; the text is for the log, never for callers."""


@dataclass(frozen=True)
class Collect:
    """Parse a submission and collect what it says."""

    submission: Submission

    def __call__(self, diagnoser: Diagnoser) -> Any:
        """What was observed, to be concluded from elsewhere."""
        return diagnoser.collect(self.submission.case(), evidence(self.submission))


def evidence(submission: Submission) -> list[Any]:
    """The files of a submission, as the engine takes them."""
    from engine.diagnose import EvidenceFile

    return [EvidenceFile(name=file.name, path=file.path) for file in submission.files]


class Reader:
    """One process, started when first needed; one job at a time, each with a time limit.

    A process of our own and not a pool, because a job that never returns must be ended, and a pool cannot do that.
    """

    def __init__(
        self, source: Source, *, start_seconds: float, seconds: float, queue: int, late: str = "reading-timeout"
    ) -> None:
        self._source = source
        self._start_seconds = start_seconds
        self._seconds = seconds
        self._queue = queue
        self._late = late
        self._waiting = 0
        self._lock = asyncio.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None

    async def start(self) -> str:
        """Start the process and load knowledge and engine in it; the digest of that knowledge.

        Raises:
            ReaderError: if they cannot be loaded, or not in time.
        """
        async with self._lock:
            try:
                return await self._start()
            except TimeoutError as error:
                raise ReaderError(f"not loaded within {self._start_seconds:g} s") from error

    async def run(self, job: Job) -> Any:
        """The result of ``job``.

        Raises:
            Problem: what the job raised, or 503 if it or the start of the process took too long, or too many wait.
            ReaderError: if the job or the process failed.
        """
        if self._waiting >= self._queue:
            raise Problem("busy", say("busy"), headers={"Retry-After": "5"})
        self._waiting += 1
        try:
            async with self._lock:
                if self._process is None or not self._process.is_alive():
                    await self._ready()
                return await self._do(self._seconds, job)
        except TimeoutError as error:
            raise Problem(
                self._late,
                say(self._late, seconds=self._seconds),
                headers={"Retry-After": "60"},
            ) from error
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None and self._connection is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._connection.close()
        self._process = self._connection = None

    async def _ready(self) -> None:
        """Start the process for a job; on a machine too busy to load it in time, the caller comes again."""
        try:
            await self._start()
        except TimeoutError as error:
            raise Problem("not-ready", say("no-knowledge"), headers={"Retry-After": "5"}) from error

    async def _start(self) -> str:
        self.close()
        return str(await self._do(self._start_seconds, None))

    async def _do(self, seconds: float, job: Job | None) -> Any:
        try:
            async with asyncio.timeout(seconds):
                kind, value = await asyncio.to_thread(self._exchange, job)
        except BaseException as error:  # also if cancelled: an answer that nobody took must not meet the next job
            self.close()
            if isinstance(error, EOFError | OSError) and not isinstance(error, TimeoutError):
                raise ReaderError("the reading process ended unexpectedly") from error
            raise
        if kind == "problem":
            raise value
        if kind == "error":
            raise ReaderError(value)
        return value

    def _exchange(self, job: Job | None) -> Any:
        if self._process is None:
            self._launch()
        connection = self._connection
        assert connection is not None
        connection.send(job)
        return connection.recv()

    def _launch(self) -> None:
        context = multiprocessing.get_context("spawn")  # the parent has threads and an engine in C: never fork it
        self._connection, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._source), name="traintriage-reader", daemon=True)
        process.start()
        self._process = process
        theirs.close()


def _serve(connection: Connection, source: Source) -> None:
    """The reading process: load knowledge and engine once, then do one job after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends this process
    engine: Any = None
    digest = ""
    while True:
        try:
            job: Job | None = connection.recv()
        except EOFError:
            return
        try:
            if engine is None:
                knowledge = source.load()
                engine, digest = source.build(knowledge), knowledge.digest
            answer = ("value", digest if job is None else job(engine))
        except Problem as problem:
            answer = ("problem", problem)
        except Exception:  # noqa: BLE001 - told to the parent, which logs it
            answer = ("error", traceback.format_exc())
        connection.send(answer)
