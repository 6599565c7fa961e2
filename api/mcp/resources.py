"""Causes, findings and gates as resources, whole."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from api import language
from api.access import Caller, Scope
from api.access.caller import require_scope
from api.expert import Expert
from api.mcp.wording import say
from api.problem import Problem
from engine.model.base import Lang

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_KINDS = (
    ("cause", "causes", "What a cause is, how it shows, how to check and to repair it, what it is confused with."),
    ("finding", "findings", "What a finding is, the rule that concludes it, and the question that asks for it."),
    ("gate", "gates", "What a gate of the release audit requires, why, and what to do if it fails."),
)


def add(server: "MCPServer[None]", expert: Expert, caller_of: Callable[[Context[Any, Any]], Caller]) -> None:
    """Add the templates ``cause://{id}``, ``finding://{id}`` and ``gate://{id}``; ``?lang=zh`` for Chinese."""
    for kind, plural, description in _KINDS:
        server.resource(
            f"{kind}://{{+id}}{{?lang}}",
            name=kind,
            title=kind.capitalize(),
            description=f"{description} Ids as in the results of the tools.",
            mime_type="application/json",
        )(_reader(kind, plural, expert, caller_of))


def _reader(
    kind: str, plural: str, expert: Expert, caller_of: Callable[[Context[Any, Any]], Caller]
) -> Callable[..., str]:
    def read(context: Context[Any, Any], id: str, lang: Lang = "en") -> str:  # noqa: A002 - the name in the template
        try:
            require_scope(caller_of(context), Scope.KNOWLEDGE_READ)
        except Problem as problem:
            raise ResourceError(problem.detail.get(lang)) from problem
        value = getattr(expert.knowledge, plural).get(id)
        if value is None:
            raise ResourceNotFoundError(say("no-id", lang, what=say(kind, lang), name=id[:100], near=""))
        return json.dumps(language.render(value, lang), ensure_ascii=False)

    return read
