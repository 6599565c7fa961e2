"""From a message in Slack to the answer in its thread, with the real engine."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.access import Caller, Scope
from api.cases.events import Outcome, Source
from api.store import jobs
from api.store.jobs import Job
from api.submission import Submission
from tests.api.slack.conftest import settled
from tests.api.slack.fake_slack import FakeSlack
from tests.api.slack.payloads import (
    CHANNEL,
    TEAM,
    USER,
    click,
    command,
    event,
    new_ts,
    post_form,
    post_interaction,
    post_json,
    shortcut,
    submission,
    suggestion,
)

REPORT = "<@U0BOT> The loss became NaN at step 4120, after the loss scale fell to 1. We train in fp16."
ANNA = Caller("research", f"slack:{TEAM}/{USER}", "anna", frozenset(Scope))


def opened(client: TestClient, slack: FakeSlack, text: str = REPORT, **more: Any) -> tuple[str, dict[str, Any]]:
    """A case by a mention: its thread, and the message with the answer."""
    slack.people = frozenset({USER})
    thread = new_ts()
    slack.threads[thread] = [{"text": text, "ts": thread, "user": USER}]
    assert post_json(client, event("app_mention", text=text, ts=thread, **more)).status_code == 200
    return thread, slack.wait_for_calls("chat.postMessage")[0] | {"ts": "1700000000.000001"}


def elements(message: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [element for block in message["blocks"] if block["type"] == "actions" for element in block["elements"]]
    return {element["action_id"]: element for element in found}


def answers(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [element for name, element in elements(message).items() if name.startswith("answer:")]


def shown(message: dict[str, Any]) -> str:
    return json.dumps(message["blocks"], ensure_ascii=False)


def next_post(slack: FakeSlack, count: int) -> dict[str, Any]:
    return slack.wait_for_calls("chat.postMessage", count)[count - 1]


def view_of(client: TestClient, thread: str) -> Any:
    """The case of a thread as the service holds it."""
    cases = client.app.state.cases
    case_id = client.portal.call(cases.linked, ANNA, "slack", f"{TEAM}/{CHANNEL}/{thread}")
    return client.portal.call(cases.get, ANNA, case_id) if case_id else None


def test_a_mention_is_answered_in_its_thread(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack)
    assert (message["channel"], message["thread_ts"]) == (CHANNEL, thread)
    assert "Half-precision activations overflow" in shown(message)
    assert "loss scale fell to 1" in shown(message)
    assert {"why", "resolve", "wrong"} < set(elements(message))
    view = view_of(client, thread)
    assert (view.head.tenant, view.events[0].by.id) == ("research", f"slack:{TEAM}/{USER}")


def test_chinese_is_answered_in_chinese(client: TestClient, slack: FakeSlack) -> None:
    _, message = opened(client, slack, "<@U0BOT> 第 4120 步 loss 变为 NaN，之前损失缩放降到 1，用 fp16 训练。")
    assert "半精度" in shown(message)
    assert elements(message)["why"]["text"]["text"] == "为什么？"


def test_a_button_answers_and_gives_way_to_who_answered(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack)
    assert post_interaction(client, click(answers(message)[0], message, thread)).status_code == 200
    update = slack.wait_for_calls("chat.update")[0]
    assert not answers(update)
    assert f"<@{USER}>" in shown(update)
    answer = next_post(slack, 2)
    assert answer["thread_ts"] == thread
    assert "▲" in shown(answer)


def test_dont_know_is_not_asked_again(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack)
    unknown = answers(message)[-1]
    post_interaction(client, click(unknown, message, thread))
    answer = next_post(slack, 2)
    asked = json.loads(unknown["value"])["q"]
    assert asked in view_of(client, thread).state.passed
    assert all(json.loads(element["value"])["q"] != asked for element in answers(answer))


def test_why_is_answered_in_the_thread(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack)
    post_interaction(client, click(elements(message)["why"], message, thread))
    answer = next_post(slack, 2)
    assert answer["thread_ts"] == thread
    assert "Speaks for it" in shown(answer)


def test_the_menu_beside_a_cause_asks_about_that_cause(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack)
    menu = [block["accessory"] for block in message["blocks"] if "accessory" in block][1]
    second = menu["options"][0]["value"].split("|")[2]
    post_interaction(client, click({**menu, "selected_option": menu["options"][0]}, message, thread))
    title = client.app.state.expert.knowledge.causes[second].title.en
    assert f"Why {title}" in shown(next_post(slack, 2))


def test_a_wrong_cause_is_kept_once(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack)
    for _ in range(2):
        post_interaction(client, click(elements(message)["wrong"], message, thread))
        settled(client)
    assert len([e for e in view_of(client, thread).events if e.body.kind == "feedback"]) == 1
    assert "for wrong" in shown(next_post(slack, 2))


def test_a_case_is_resolved_by_a_form(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack)
    post_interaction(client, click(elements(message)["resolve"], message, thread))
    form = slack.wait_for_calls("views.open")[0]["view"]
    lead = form["blocks"][0]["element"]["initial_option"]
    found = post_interaction(client, suggestion(form, "overflow")).json()["option_groups"]
    assert [group["label"]["text"] for group in found] == ["In this ranking", "All causes"]
    values = {
        "cause": {"type": "external_select", "selected_option": lead},
        "text confirmed_by": {"type": "plain_text_input", "value": "finite in bf16"},
    }
    assert post_interaction(client, submission(form, values)).status_code == 200
    answer = next_post(slack, 2)
    assert "Resolved" in shown(answer)
    assert "finite in bf16" in shown(answer)
    outcome = view_of(client, thread).state.outcome
    assert (outcome.cause, outcome.confirmed_by) == (lead["value"], "finite in bf16")


def test_a_form_without_a_cause_is_sent_back(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack)
    post_interaction(client, click(elements(message)["resolve"], message, thread))
    form = slack.wait_for_calls("views.open")[0]["view"]
    answer = post_interaction(client, submission(form, {"cause": {"type": "external_select"}})).json()
    assert answer["response_action"] == "errors"
    assert "Choose a cause" in answer["errors"]["text other"]


def test_what_a_check_came_to_is_filled_in(client: TestClient, slack: FakeSlack) -> None:
    # What is asked first of this report rests on one number, so the form has a field for it.
    thread, message = opened(client, slack, "<@U0BOT> GPU utilisation is low")
    post_interaction(client, click(elements(message)["ran"], message, thread))
    form = slack.wait_for_calls("views.open")[0]["view"]
    blocks = {block["block_id"]: block for block in form["blocks"]}
    value = next(name for name in blocks if name.startswith("value "))
    refused = post_interaction(client, submission(form, {value: {"type": "plain_text_input", "value": "lots"}})).json()
    assert value in refused["errors"]
    filled = {
        next(name for name in blocks if name.startswith("finding ")): {"selected_option": {"value": "yes"}},
        value: {"value": "0.4"},
        "text output": {"value": "step 4100 | loss 2.4 | loss scale 2\nstep 4110 | loss 2.3 | loss scale 1"},
    }
    assert post_interaction(client, submission(form, filled)).status_code == 200
    assert "answered" in shown(next_post(slack, 2))
    settled(client)
    assert len(slack.called("chat.postMessage")) == 2  # output and answers are told once
    state = view_of(client, thread).state
    assert state.facts[value.removeprefix("value ")] == 0.4
    assert "loss scale 2" in json.dumps(state.document)


def test_people_go_on_in_the_thread_with_their_own_words(client: TestClient, slack: FakeSlack) -> None:
    thread, _ = opened(client, slack)
    post_json(client, event("message", text="the same run in bf16 is fine", thread_ts=thread))
    answer = next_post(slack, 2)
    assert answer["thread_ts"] == thread
    assert view_of(client, thread).events[-1].body.kind == "message"


def test_talk_among_people_is_not_answered_unless_the_bot_is_asked(client: TestClient, slack: FakeSlack) -> None:
    thread, _ = opened(client, slack)
    post_json(client, event("message", text="lunch?", thread_ts=thread))
    settled(client)
    assert len(slack.called("chat.postMessage")) == 1
    post_json(client, event("message", text="<@U0BOT> help", thread_ts=thread))
    next_post(slack, 2)


def test_other_threads_are_left_alone(client: TestClient, slack: FakeSlack) -> None:
    assert post_json(client, event("message", text="loss is NaN", thread_ts=new_ts())).status_code == 200
    assert post_json(client, event("message", text="loss is NaN")).status_code == 200
    settled(client)
    assert slack.calls == []


def test_a_resolved_thread_is_left_alone_until_a_mention_opens_a_new_case(client: TestClient, slack: FakeSlack) -> None:
    thread, _ = opened(client, slack)
    first = view_of(client, thread)
    outcome = Outcome(other="a bad card")
    client.portal.call(client.app.state.cases.resolve, ANNA, first.id, outcome)
    next_post(slack, 2)
    for more in ({}, {"channel_type": "im"}):
        post_json(client, event("message", text="thanks, the loss is NaN no more", thread_ts=thread, **more))
    settled(client)
    assert len(slack.called("chat.postMessage")) == 2
    again = event("message", text="<@U0BOT> loss is NaN again, fp16", thread_ts=thread)
    post_json(client, again)
    post_json(client, {**again, "event": {**again["event"], "type": "app_mention"}})
    next_post(slack, 3)
    settled(client)
    assert len(slack.called("chat.postMessage")) == 3
    assert view_of(client, thread).id != first.id


def test_the_command_begins_a_thread_in_the_channel(client: TestClient, slack: FakeSlack) -> None:
    answer = post_form(client, command("the loss is NaN since step 300, fp16"))
    assert answer.status_code == 200
    assert "Looking" in answer.text
    message = slack.wait_for_calls("chat.postMessage")[0]
    assert message["channel"] == CHANNEL
    assert "thread_ts" not in message
    settled(client)
    post_json(client, event("message", text="bf16 works", thread_ts="1700000000.000001"))  # where it was posted
    slack.wait_for(lambda: view_of(client, list(slack.threads)[-1]))


def test_the_command_says_how_it_is_used(client: TestClient, slack: FakeSlack) -> None:
    assert "/triage loss" in post_form(client, command("")).text
    assert "诊断" in post_form(client, command("帮助")).text
    assert slack.calls == []


def test_where_the_bot_is_not_it_writes_to_the_person(client: TestClient, slack: FakeSlack) -> None:
    slack.failing["chat.postMessage"] = ["not_in_channel"]
    post_form(client, command("the loss is NaN since step 300, fp16"))
    assert next_post(slack, 1)["channel"] == USER


def test_an_alert_is_diagnosed_by_the_shortcut(client: TestClient, slack: FakeSlack) -> None:
    alert = {
        "ts": new_ts(),
        "bot_id": "B0ALERT",
        "text": "",
        "attachments": [{"title": "LossNaN", "text": "The loss is NaN at step 4120 in an fp16 run."}],
    }
    assert post_interaction(client, shortcut(alert)).status_code == 200
    message = slack.wait_for_calls("chat.postMessage")[0]
    assert message["thread_ts"] == alert["ts"]
    assert "NaN" in shown(message)


def test_a_mention_in_a_thread_reads_what_stands_there(client: TestClient, slack: FakeSlack) -> None:
    thread = new_ts()
    slack.threads[thread] = [
        {"ts": thread, "bot_id": "B1", "text": "ALERT: loss is NaN at step 4120, loss scale fell to 1, fp16"},
        {"ts": new_ts(), "user": "U0BOT", "text": "my own words about an out-of-memory error"},
        {"ts": new_ts(), "user": USER, "text": "<@U0BOT>"},
    ]
    post_json(client, event("app_mention", text="<@U0BOT>", thread_ts=thread))
    assert "fp16" in shown(slack.wait_for_calls("chat.postMessage")[0])
    report = view_of(client, thread).state.document["report"]
    assert "ALERT" in report
    assert "out-of-memory" not in report


def test_a_direct_message_opens_a_case(client: TestClient, slack: FakeSlack) -> None:
    body = event("message", text="loss is NaN at step 20, fp16", channel="D0ANNA", channel_type="im")
    post_json(client, body)
    message = slack.wait_for_calls("chat.postMessage")[0]
    assert (message["channel"], message["thread_ts"]) == ("D0ANNA", body["event"]["ts"])


def test_nothing_to_go_by_is_said_to_the_person(client: TestClient, slack: FakeSlack) -> None:
    post_json(client, event("app_mention", text="<@U0BOT>"))
    assert "nothing to go by" in shown(slack.wait_for_calls("chat.postEphemeral")[0])
    assert slack.called("chat.postMessage") == []


def test_slack_may_send_everything_three_times(client: TestClient, slack: FakeSlack) -> None:
    thread = new_ts()
    slack.people = frozenset({USER})
    body = event("app_mention", text=REPORT, ts=thread)
    again = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    assert [post_json(client, body, **more).status_code for more in ({}, again, again)] == [200] * 3
    slack.wait_for_calls("chat.postMessage")
    # A mention in a thread comes twice by itself, under two ids.
    body = event("message", text="<@U0BOT> bf16 works", thread_ts=thread)
    settled(client)
    post_json(client, body)
    post_json(client, {**body, "event_id": "Ev0", "event": {**body["event"], "type": "app_mention"}})
    settled(client)
    assert [e.body.kind for e in view_of(client, thread).events] == ["opened", "message"]
    assert len(slack.called("chat.postMessage")) == 2


def test_the_answer_to_slack_does_not_wait_for_the_engine(
    client: TestClient, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = asyncio.Event()
    ranker = client.app.state.cases._ranker
    rank = ranker.rank

    async def slow(*arguments: Any) -> Any:
        await released.wait()
        return await rank(*arguments)

    monkeypatch.setattr(ranker, "rank", slow)
    bodies = [event("app_mention", text=REPORT) for _ in range(5)]
    assert [post_json(client, body).status_code for body in bodies] == [200] * 5
    assert post_form(client, command("loss is NaN")).status_code == 200
    assert slack.called("chat.postMessage") == []

    async def release() -> None:
        released.set()

    client.portal.call(release)
    slack.people = frozenset({USER})
    next_post(slack, 6)


def test_a_delivery_that_cannot_be_stored_is_not_acknowledged(
    client: TestClient, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise OSError("disk full")

    body = event("app_mention", text=REPORT)
    with monkeypatch.context() as patched:
        patched.setattr(jobs, "enqueue", fails)
        answer = post_json(client, body)
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert "disk" not in answer.text
    slack.people = frozenset({USER})
    assert post_json(client, body).status_code == 200
    slack.wait_for_calls("chat.postMessage")


def test_a_change_from_elsewhere_is_told_in_the_thread(client: TestClient, slack: FakeSlack) -> None:
    thread, _ = opened(client, slack)
    view = view_of(client, thread)
    somebody = Caller("research", "key:ci", "ci <!channel>", frozenset(Scope))
    more = Submission(b'{"report": "the same run in bf16 works"}', "json")
    client.portal.call(client.app.state.cases.add_evidence, somebody, view.id, more)
    answer = next_post(slack, 2)
    assert answer["thread_ts"] == thread
    assert "ci &lt;!channel&gt;" in shown(answer)


def test_a_case_of_an_alert_gets_a_thread_and_no_message_for_every_repetition(
    client: TestClient, slack: FakeSlack
) -> None:
    cases = client.app.state.cases
    alert = Caller("research", "alert:alertmanager", "alertmanager", frozenset(Scope))
    source = Source(kind="alertmanager", ref="{}:{alertname='NaN'}")

    async def open_case() -> Any:
        report = Submission(b'{"report": "loss is NaN at step 4120, loss scale fell to 1, fp16"}', "json")
        return await cases.open(alert, report, source=source)

    view = client.portal.call(open_case)
    message = slack.wait_for_calls("chat.postMessage")[0]
    assert message["channel"] == "C0ALERT"
    for _ in range(3):
        more = Submission(b'{"observations": [{"name": "severity", "value": "page"}]}', "json")
        client.portal.call(cases.add_evidence, alert, view.id, more, source)
    settled(client)
    assert len(slack.called("chat.postMessage")) == 1


def test_what_slack_refuses_for_a_while_is_tried_again(client: TestClient, slack: FakeSlack) -> None:
    slack.failing["chat.postMessage"] = [429]
    thread, message = opened(client, slack)
    assert (message["thread_ts"], len(slack.refused)) == (thread, 1)


def test_a_second_try_finds_what_the_first_has_posted(client: TestClient, slack: FakeSlack) -> None:
    thread, _ = opened(client, slack)
    view = view_of(client, thread)
    place = f"{TEAM}/{CHANNEL}/{thread}"
    job = Job(1, "slack.post", "research", None, {"case": view.id, "seq": 1, "place": place}, 2, "lease")
    client.portal.call(client.app.state.worker_handlers["slack.post"], job)
    assert len(slack.called("chat.postMessage")) == 1


def test_a_second_try_of_a_delivery_changes_nothing_again(
    client: TestClient, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Job] = []
    handlers = client.app.state.worker_handlers
    work = handlers["slack.delivery"]

    async def keeping(job: Job) -> None:
        kept.append(job)
        await work(job)

    monkeypatch.setitem(handlers, "slack.delivery", keeping)
    thread, message = opened(client, slack)
    post_interaction(client, click(answers(message)[0], message, thread))
    post_json(client, event("message", text="the same run in bf16 is fine", thread_ts=thread))
    settled(client)
    before = view_of(client, thread).head.revision
    for job in kept:
        again = Job(job.id, job.kind, job.tenant, job.key, job.payload, job.attempts + 1, job.lease)
        client.portal.call(work, again)
    assert (view_of(client, thread).head.revision, before, len(kept)) == (3, 3, 3)


HOSTILE = (
    "<@U0BOT> loss is NaN &lt;!channel&gt; @here @everyone &lt;@U0BOSS&gt; &lt;http://evil|click&gt; *b* _i_ `c` ```\n"
    "step 1 loss nan \u202eevil\u202c \x1b[31mred\x00 ```step 2 loss nan <!here> & &amp; &gt; \U000e0041 \ud83d"
)


def test_nothing_in_a_report_acts_in_slack(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack, HOSTILE.encode("utf-8", "replace").decode())
    post_interaction(client, click(elements(message)["why"], message, thread))
    next_post(slack, 2)  # the fixture looks at every message
