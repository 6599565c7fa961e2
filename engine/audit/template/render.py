"""Rendering a template in a child process under limits: the parent's side."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WALL_SECONDS = 60.0
CPU_SECONDS_EACH, CPU_SECONDS_ALL = 2.0, 4
MAX_ANSWER_BYTES = 64 << 20
_CHILD = Path(__file__).with_name("child.py")


class UnrenderedError(Exception):
    """Nothing was rendered, and this says nothing of the template: the system has no such limits, or no time."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """What came of one conversation: the text, or the words of the template's own refusal, or an error."""

    text: str | None = None
    refused: str | None = None
    error: str | None = None


class Renderer:
    """A process that renders one template, once. It gets ready by itself, so start it before it is needed."""

    def __init__(self) -> None:
        try:
            # -I: neither the environment nor the working directory has a say in what the child imports.
            self._process = subprocess.Popen(  # noqa: S603 - our own script; the template goes in as data
                [sys.executable, "-I", "-B", str(_CHILD), str(CPU_SECONDS_EACH), str(CPU_SECONDS_ALL)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
            )
        except OSError as error:
            raise UnrenderedError(str(error)) from error
        self._end = weakref.finalize(self, _ended, self._process)

    def render(self, template: str, renderings: Sequence[Mapping[str, Any]]) -> list[Rendering]:
        """Render the template for several sets of variables; the process ends with it.

        Returns:
            One answer for every rendering. If the template cannot be compiled, each is the same error.

        Raises:
            UnrenderedError: if the limits cannot be set on this system, or it is too busy to render at all.
        """
        # The child's own limits count its work; time that it does not get is no fault of the template.
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(WALL_SECONDS, give_up)
        timer.start()
        try:
            answer = _ask(self._process, json.dumps({"template": template, "renderings": list(renderings)}).encode())
        finally:
            timer.cancel()
            self._end()
        if late.is_set():
            raise UnrenderedError(f"the process that renders templates was not done after {WALL_SECONDS:.0f} s")
        return _answers(answer[: answer.rfind(b"\n") + 1].splitlines(), len(renderings))


def render(template: str, renderings: Sequence[Mapping[str, Any]], renderer: Renderer | None = None) -> list[Rendering]:
    """Render a template as :meth:`Renderer.render` does, by a process started before or a fresh one."""
    return (renderer or Renderer()).render(template, renderings)


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(BrokenPipeError):
            stream.close() if stream else None
    process.wait()


def _ask(process: subprocess.Popen[bytes], job: bytes) -> bytes:
    """Write the job and read what comes, up to the limit. Not ``communicate``, which reads without one."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout as answer:
        # A child that ends before it has read the job gives no answer.
        with contextlib.suppress(BrokenPipeError), process.stdin as question:
            question.write(job)
        return answer.read(MAX_ANSWER_BYTES)


def _answers(lines: list[bytes], count: int) -> list[Rendering]:
    if not lines:
        raise UnrenderedError("the process that renders templates could not start under its limits")
    compiled, *rest = (json.loads(line) for line in lines[1:] or [b'{"error": "ends the process"}'])
    if compiled:
        return [Rendering(error=f"does not compile: {compiled['error']}")] * count
    found = [Rendering(**answer) for answer in rest]
    lost = Rendering(error="the process ended before, for its time or its memory")
    return found + [lost] * (count - len(found))
