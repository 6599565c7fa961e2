"""The command ``traintriage``. Every subcommand is imported when it is called, so that ``diagnose`` stays light."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

import click

from engine import __version__

if TYPE_CHECKING:
    from engine.model.base import Lang

FOUND, USAGE, INCOMPLETE, NOTHING_TO_DO, INTERNAL = 1, 2, 3, 4, 70
_COMMANDS = {
    "diagnose": ("api.cli.diagnose", "Rank the causes of an incident from files, numbers or a sentence."),
    "ask": ("api.cli.ask", "Find the cause in a dialogue: one question at a time, no model behind it."),
    "audit": ("api.cli.audit", "May this checkpoint go out? Pass, fail or not enough evidence, item by item."),
    "audit-log": ("api.cli.audit_log", "The log of who did what: verify it, sign how it stands, show it."),
    "calc": ("api.cli.calc", "Tokens per update, and static training memory."),
    "serve": ("api.cli.serve", "Start the REST service on this machine."),
    "mcp": ("api.cli.mcp", "The tools for a chatbot on this machine (Model Context Protocol)."),
    "keys": ("api.cli.keys", "Make, list, rotate and revoke the keys of the service."),
    "slack": ("api.cli.slack", "Answer in Slack over a connection that this machine makes."),
    "demo": ("api.cli.demo", "Start the service, send it a bundled incident, print the answer."),
    "kb": ("api.cli.kb", "Check, test, extend and measure the knowledge base."),
}


class Problem(click.ClickException):
    """An error for a person: what is wrong, where, and what to do. With ``--json`` it is a problem document."""

    def __init__(self, title: str, detail: str = "", status: int = USAGE, **more: Any) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status = status
        self.document = {"type": "about:blank", "title": title, "detail": detail or title, **more}


def language_of_terminal() -> Lang:
    """Chinese where the terminal is, English otherwise."""
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else "en"


class LazyGroup(click.Group):
    """A group that imports a subcommand's module only when the command is looked up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(_COMMANDS[cmd_name][0])
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="traintriage")
def cli() -> None:
    """Rule-based diagnosis of training runs: ranked causes, the evidence, and the next check to make.

    Exit codes: 0 nothing found or passed, 1 found or failed, 2 wrong use, 3 incomplete, 4 nothing to do, 70 internal.
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command and exit. An uncaught exception must not read as *found*, so it exits with 70."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # The matrices are small: threads for them cost more to start than they save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # none of them is for these models
    # Starting makes some hundred thousand objects that all stay: looking for garbage among them costs a tenth of it.
    gc.set_threshold(200_000, 20, 20)
    as_json = "--json" in arguments
    try:
        status = cli.main(arguments, prog_name="traintriage", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        status = 130
    except click.ClickException as error:
        status = _report(error, as_json)
    except BrokenPipeError:
        # The reader went away (``| head``): not an error of ours. Keep the interpreter from flushing into it again.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
        status = 0
    except Exception as error:  # noqa: BLE001 - whatever it is must exit with 70
        status = INTERNAL
        traceback.print_exc()
        if as_json:
            with contextlib.suppress(OSError):  # standard output itself may be what failed
                _print_problem({"type": "about:blank", "title": "internal error", "detail": type(error).__name__})
    sys.exit(status if isinstance(status, int) else 0)


def _report(error: click.ClickException, as_json: bool) -> int:
    if as_json:
        document = (
            error.document
            if isinstance(error, Problem)
            else {"type": "about:blank", "title": "wrong use", "detail": error.format_message()}
        )
        _print_problem(document)
    else:
        error.show()
    return error.status if isinstance(error, Problem) else error.exit_code


def _print_problem(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))
