"""``traintriage calc``: the calculators; options are the fields of their request models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from pydantic import BaseModel, ValidationError
from rich.table import Table

from api.cli import Problem
from api.render import console
from engine.calculators.memory import MemoryRequest, MemoryResult, training_memory
from engine.calculators.tokens import TokenFigures, TokensRequest, TokensResult, tokens_per_update
from engine.model.base import Lang, Text


@click.group("calc")
def command() -> None:
    """Tokens per update, and static training memory."""


def _fields(model: type[BaseModel]) -> Callable[[Any], Any]:
    """Options for every field of a request model, with the field's own description as help."""

    def decorate(function: Any) -> Any:
        for name, field in reversed(model.model_fields.items()):
            default = "" if field.is_required() or field.default is None else f" [default: {field.default}]"
            function = click.option(f"--{name.replace('_', '-')}", name, help=f"{field.description}{default}")(function)
        function = click.option("--lang", type=click.Choice(["en", "zh"]), default="en")(function)
        return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(function)

    return decorate


def _request(model: type[BaseModel], values: dict[str, str | None]) -> Any:
    try:
        return model.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        problems = [
            {"option": "--" + str(item["loc"][0]).replace("_", "-") if item["loc"] else "", "detail": item["msg"]}
            for item in error.errors(include_url=False)
        ]
        detail = "; ".join(f"{p['option']} {p['detail']}".strip() for p in problems)
        raise Problem("these numbers do not go together", detail, errors=problems) from None


@command.command("tokens")
@_fields(TokensRequest)
def tokens(lang: Lang, as_json: bool, **values: str | None) -> None:
    """Tokens per optimizer update: DP × microbatch × length × accumulation."""
    result = tokens_per_update(_request(TokensRequest, values))
    if as_json:
        click.echo(result.model_dump_json(indent=2))
    else:
        _print_tokens(result, lang)


def _print_tokens(result: TokensResult, lang: Lang) -> None:
    out = console()
    out.print(f"DP {result.data_parallel}, cards {result.world_size}")
    if result.question is not None:
        out.print(result.question.get(lang), style="bold")
        for reading in result.readings:
            out.print(f"• {reading.text.get(lang)}")
            if reading.figures is not None:
                out.print(_figures(reading.figures))
    if result.figures is not None:
        out.print(_figures(result.figures))
    _notes(result.notes, lang)


def _figures(figures: TokenFigures) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in figures:
        if value is not None:
            table.add_row(name.replace("_", " "), f"{value:,}")
    return table


@command.command("memory")
@_fields(MemoryRequest)
def memory(lang: Lang, as_json: bool, **values: str | None) -> None:
    """Static memory a card: weights, gradients, master weights and optimizer state."""
    result = training_memory(_request(MemoryRequest, values))
    if as_json:
        click.echo(result.model_dump_json(indent=2))
    else:
        _print_memory(result, lang)


def _print_memory(result: MemoryResult, lang: Lang) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("mode", "GB/card", "weights", "gradients", "master", "optimizer", "GB cluster", "vs DP", "fits"):
        table.add_column(heading, justify="left" if heading in ("mode", "fits") else "right")
    for row in result.comparison:
        card = row.per_card
        less = f"−{row.percent_less_than_dp:g} %" if row.percent_less_than_dp else "0 %"
        table.add_row(
            row.mode, f"{card.total_gb:g}", f"{card.weights_gb:g}", f"{card.gradients_gb:g}", f"{card.master_gb:g}",
            f"{card.optimizer_gb:g}", f"{row.cluster.total_gb:g}", less, row.fits or "",
            style="bold" if row.mode == result.mode else "",
        )  # fmt: skip
    out = console()
    out.print(table)
    _notes((result.headroom_rule, *result.assumptions, *result.not_counted, *result.notes), lang)


def _notes(notes: tuple[Text, ...], lang: Lang) -> None:
    for note in notes:
        console().print(f"• {note.get(lang)}", style="dim")
