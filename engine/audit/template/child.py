"""Renders chat templates in a process of its own, which has little memory, little time, and no files to open.

Run by :mod:`engine.audit.template.render` as a script, without the packages of the engine: one JSON job on standard
input, one line of JSON for every rendering on standard output. The environment of the template is that of transformers
(``utils/chat_template_utils.py``), with a fixed date, so that a rendering can be compared with an earlier one.
"""

from __future__ import annotations

import copy
import datetime
import json
import pathlib
import pprint  # noqa: F401 - a filter of jinja imports it when no file can be opened any more
import resource
import signal
import sys
from typing import Any, NoReturn

# Imported before the limits are set: afterwards no file can be opened.
import jinja2
import jinja2.debug
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

MORE_MEMORY_BYTES = 256 << 20
MAX_OUTPUT_CHARS = 1 << 18
TODAY = datetime.datetime(2024, 7, 26, 12, tzinfo=datetime.UTC)


class _Refused(Exception):  # noqa: N818 - what a template does on purpose is no error of ours
    """The template itself turned the conversation down."""


class _TooLongError(Exception):
    """The time of one rendering is over."""


class Generation(jinja2.ext.Extension):
    """``{% generation %}`` ... ``{% endgeneration %}``, which marks what the assistant says and writes its body."""

    tags = {"generation"}

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=line)


def environment() -> jinja2.sandbox.ImmutableSandboxedEnvironment:
    """The environment that transformers renders chat templates in."""
    extensions = [Generation, jinja2.ext.loopcontrols]
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    made.filters["tojson"] = _tojson
    made.globals["raise_exception"] = _refuse
    made.globals["strftime_now"] = TODAY.strftime
    return made


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: object = "") -> NoReturn:
    raise _Refused(str(message))


def rendered(template: jinja2.Template, values: dict[str, Any], seconds: float) -> dict[str, str]:
    """One rendering: its text, or what the template refused, or the error."""
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        parts: list[str] = []
        size = 0
        for part in template.generate(copy.deepcopy(values)):
            size += len(part)
            if size > MAX_OUTPUT_CHARS:
                return {"error": f"writes more than {MAX_OUTPUT_CHARS:,} characters"}
            parts.append(part)
        return {"text": "".join(parts)}
    except _Refused as error:
        return {"refused": str(error)[:200]}
    except _TooLongError:
        return {"error": f"takes more than {seconds:g} s", "last": "true"}
    except MemoryError:
        return {"error": f"takes more than {MORE_MEMORY_BYTES >> 20} MiB"}
    except RecursionError:
        return {"error": "calls itself without end"}
    except Exception as error:  # noqa: BLE001 - a template can raise anything
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def limit(seconds: int) -> None:
    """Take away what a template could do harm with. Fails where the system has no such limits."""
    # Linux says in pages how large the process is; what jinja needs is in it already.
    now = int(pathlib.Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MORE_MEMORY_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for none in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
        resource.setrlimit(none, (0, 0))
    # Three descriptors are open; no fourth can be.
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    signal.signal(signal.SIGVTALRM, _stop)


def _stop(*_: object) -> NoReturn:
    raise _TooLongError


def write(answer: dict[str, str]) -> None:
    """One line of the answer, at once: a later rendering may end the process."""
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def main(each: float, in_all: int) -> None:
    """Limits first, then the job, then the renderings one by one, each written before the next begins.

    ``each`` and ``in_all`` are the seconds of processor time for one rendering, and for everything.

    The first line of the answer says that the limits hold, the second whether the template compiles.
    """
    environment().from_string("{{ 'what jinja imports on its first use' }}").render()
    limit(in_all)
    job = json.loads(sys.stdin.buffer.read())
    write({})
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, each)
        template = environment().from_string(job["template"])
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except jinja2.TemplateSyntaxError as error:
        write({"error": f"line {error.lineno}: {error.message}"[:200]})
        return
    except _TooLongError:
        write({"error": f"takes more than {each:g} s to compile"})
        return
    except Exception as error:  # noqa: BLE001 - deep nesting, memory: whatever compiling comes to
        write({"error": f"{type(error).__name__}: {error}"[:200]})
        return
    write({})
    for values in job["renderings"]:
        answer = rendered(template, values, each)
        too_long = answer.pop("last", None)
        write(answer)
        if too_long:
            return


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
