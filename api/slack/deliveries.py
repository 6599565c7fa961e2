"""What Slack delivers, reduced to what there is to do about it. Pure; whatever has no meaning here is ``None``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from api.cases.events import Answers, Outcome, State
from api.slack.kit import unpacked
from api.slack.text import received
from engine.model.base import Frozen

Id = Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{1,32}$")]
Stamp = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,12}\.[0-9]{1,9}$")]
CaseId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
# A message by its place, or an interaction by its ticket.
Key = Annotated[
    str, StringConstraints(pattern=r"^slack:([A-Z0-9]+/[A-Z0-9]+/[0-9]+\.[0-9]+|[A-Za-z0-9._-]+)$", max_length=200)
]
DELIVERY = "slack.delivery"  # kind of job
MOST_FILES = 10
_TEXT = 40_000  # Slack's own limit for a message
_PEOPLE = frozenset({None, "file_share", "thread_broadcast"})  # subtypes of messages that people write


class Who(Frozen):
    """Who did it; ``team`` is their own workspace."""

    team: Id
    user: Id
    name: str = ""


class Thread(Frozen):
    """A thread: its channel and first message, as Slack names them. ``ts`` is empty where none has begun yet.

    ``workspace`` is the bot's; people in a shared channel may come from another.
    """

    workspace: Id
    channel: Id
    ts: Stamp | Literal[""] = ""


class Report(Frozen):
    """Somebody asks for a diagnosis. ``context``: what else stands in the thread belongs to it."""

    kind: Literal["report"] = "report"
    key: Key
    who: Who
    thread: Thread
    text: str = ""
    files: tuple[Id, ...] = ()
    context: bool = True


class Message(Frozen):
    """Somebody writes in the thread of a case. ``addressed``: to the bot, by name or in private: it has to answer."""

    kind: Literal["message"] = "message"
    key: Key
    who: Who
    thread: Thread
    text: str = ""
    files: tuple[Id, ...] = ()
    addressed: bool = False
    mentioned: bool = False


class Click(Frozen):
    """Somebody pressed a button. ``message`` and ``blocks`` are the message that has it."""

    kind: Literal["click"] = "click"
    key: Key
    who: Who
    thread: Thread
    case: CaseId
    action: Literal["answer", "why", "wrong"]
    question: str = ""
    cause: str = ""
    answers: dict[str, State] = {}
    said: str = ""
    message: Stamp
    blocks: list[Any] = []


class Form(Frozen):
    """Somebody filled in a form."""

    kind: Literal["form"] = "form"
    key: Key
    who: Who
    thread: Thread
    case: CaseId
    answers: Answers | None = None
    output: str = ""
    outcome: Outcome | None = None


Made = TypeVar("Made", bound=Frozen)
Delivery = Report | Message | Click | Form
_ADAPTER: TypeAdapter[Delivery] = TypeAdapter(Annotated[Delivery, Field(discriminator="kind")])


def packed(delivery: Delivery) -> dict[str, Any]:
    """The delivery as the payload of a job."""
    return delivery.model_dump(mode="json")


def unpack(payload: Mapping[str, Any]) -> Delivery:
    """What :func:`packed` wrote."""
    return _ADAPTER.validate_python(dict(payload))


def of_event(body: Mapping[str, Any]) -> Report | Message | None:
    """A mention, or a message in a channel or to the bot.

    A mention inside a thread comes twice, as ``app_mention`` and as ``message``: the key is the message's, not the
    delivery's, so that one of them is enough.
    """
    event = body.get("event") or {}
    kind, channel, ts = event.get("type"), event.get("channel"), event.get("ts")
    if event.get("bot_id") or event.get("subtype") not in _PEOPLE or event.get("hidden"):
        return None
    team = event.get("user_team") or event.get("source_team") or event.get("team") or body.get("team_id")
    common: dict[str, Any] = {
        "key": f"slack:{workspace_of(body)}/{channel}/{ts}",
        "who": {"team": team, "user": event.get("user")},
        "thread": {"workspace": workspace_of(body), "channel": channel, "ts": event.get("thread_ts") or ts},
        "text": received(str(event.get("text") or ""))[:_TEXT],
        "files": _files(event),
    }
    if kind == "app_mention" or (event.get("channel_type") == "im" and not event.get("thread_ts")):
        return _made(Report, common)
    if kind == "message" and event.get("thread_ts"):
        mentioned = any(f"<@{bot}>" in str(event.get("text")) for bot in _bots(body))
        addressed = mentioned or event.get("channel_type") == "im"
        return _made(Message, {**common, "addressed": addressed, "mentioned": mentioned})
    return None


def of_command(body: Mapping[str, Any]) -> Report | None:
    """``/triage text``."""
    return _made(
        Report,
        {
            "key": f"slack:{body.get('trigger_id')}",
            "who": {"team": body.get("team_id"), "user": body.get("user_id"), "name": body.get("user_name") or ""},
            "thread": {"workspace": workspace_of(body), "channel": body.get("channel_id")},
            "text": received(str(body.get("text") or ""))[:_TEXT],
            "context": False,
        },
    )


def of_shortcut(body: Mapping[str, Any]) -> Report | None:
    """“Diagnose this” on a message; what a bot posted there, such as an alert, is a report like any other."""
    message = body.get("message") or {}
    return _made(
        Report,
        {
            "key": f"slack:{body.get('trigger_id')}",
            "who": _who(body),
            "thread": thread_of(body),
            "text": text_of(message),
            "files": _files(message),
            "context": False,
        },
    )


def of_action(body: Mapping[str, Any]) -> Click | None:
    """A button, or an entry of the menu beside a cause."""
    action = next((item for item in body.get("actions") or () if isinstance(item, dict)), {})
    what, value = pressed(action)
    message = body.get("message") or {}
    return _made(
        Click,
        {
            "key": f"slack:{body.get('trigger_id')}",
            "who": _who(body),
            "thread": thread_of(body),
            "case": value.get("c"),
            "action": what,
            "question": value.get("q", ""),
            "cause": value.get("k", ""),
            "answers": value.get("a", {}),
            "said": value.get("s", ""),
            "message": message.get("ts"),
            "blocks": message.get("blocks", []) if what == "answer" else [],
        },
    )


def pressed(action: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """What an element of a message stands for: the action's name, and the value it carries."""
    if action.get("type") == "overflow":
        what, _, rest = str(_of(action, "selected_option", "value")).partition("|")
        case, _, cause = rest.partition("|")
        return what, {"c": case, "k": cause}
    return str(action.get("action_id")).partition(":")[0], unpacked(action.get("value"))


def thread_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The thread of the message that an interaction comes from."""
    message = body.get("message") or {}
    return {
        "workspace": workspace_of(body),
        "channel": _of(body, "channel", "id"),
        "ts": message.get("thread_ts") or message.get("ts"),
    }


def of_form(body: Mapping[str, Any], filled: Mapping[str, Any]) -> Form | None:
    """A form that was sent off; ``filled`` is what :mod:`api.slack.modals` read of it."""
    place = unpacked(_of(body, "view", "private_metadata"))
    return _made(
        Form,
        {
            "key": f"slack:{body.get('trigger_id')}",
            "who": _who(body),
            "thread": {name: place.get(name) for name in ("workspace", "channel", "ts")},
            "case": place.get("c"),
            **filled,
        },
    )


def workspace_of(body: Mapping[str, Any]) -> str:
    """The workspace in which the bot is installed and something happened."""
    return str(body.get("team_id") or _of(body, "team", "id") or _of(body, "user", "team_id") or "")


def text_of(message: Mapping[str, Any]) -> str:
    """All text of a message: its own, and that of its attachments, in which alerts come."""
    texts = [str(message.get("text") or "")]
    for item in message.get("attachments") or ():
        if isinstance(item, dict):
            texts += [str(item[key]) for key in ("pretext", "title", "text") if item.get(key)]
    return "\n".join(received(text) for text in texts if text)[:_TEXT]


def who_of(body: Mapping[str, Any]) -> Who | None:
    """Who uses an element of a message or a form."""
    return _made(Who, _who(body))


def _who(body: Mapping[str, Any]) -> dict[str, Any]:
    user = body.get("user") or {}
    return {
        "team": user.get("team_id") or _of(body, "team", "id"),
        "user": user.get("id"),
        "name": str(user.get("name") or user.get("username") or ""),
    }


def _bots(body: Mapping[str, Any]) -> list[str]:
    return [str(item.get("user_id")) for item in body.get("authorizations") or () if isinstance(item, dict)]


def _files(message: Mapping[str, Any]) -> list[Any]:
    return [item.get("id") for item in message.get("files") or () if isinstance(item, dict)][:MOST_FILES]


def _of(body: Mapping[str, Any], name: str, key: str) -> Any:
    inner = body.get(name)
    return inner.get(key) if isinstance(inner, dict) else None


def _made(model: type[Made], values: Mapping[str, Any]) -> Made | None:
    try:
        return model.model_validate(values)
    except ValidationError:
        return None
