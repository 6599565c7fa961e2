"""What events come to, whatever their order."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from api.cases.events import (
    Actor,
    Added,
    Answered,
    Answers,
    Body,
    Event,
    Evidence,
    FileRef,
    Opened,
    Outcome,
    Reopened,
    Resolved,
    Retracted,
    Source,
)
from api.cases.state import CaseState, labelled, merged, state_of

ME = Actor(id="local", name="local")


def events(*bodies: Body, document: dict[str, Any] | None = None) -> list[Event]:
    opened = Opened(title="t", lang="en", source=Source(), evidence=Evidence(document=document or {"report": "a"}))
    return [Event(seq=n, at=float(n), by=ME, body=body) for n, body in enumerate((opened, *bodies), start=1)]


def after(*bodies: Body) -> CaseState:
    return state_of(events(*bodies))


def more(**document: Any) -> Added:
    return Added(evidence=Evidence(document=document))


def told(**answers: Any) -> Answered:
    return Answered(answers=Answers(**answers))


def test_documents_are_joined() -> None:
    state = after(more(report="b", log=["x"], facts={"a.b": 1}), more(log=["y"], facts={"a.b": 2}, paradigm="sft"))
    assert state.document == {"report": "a\n\nb", "log": ["x", "y"], "facts": {"a.b": 2}, "paradigm": "sft"}


def test_a_name_used_twice_is_numbered_unless_the_content_is_the_same() -> None:
    joined = merged([{"files": {"a": 1, "b": 2}}, {"files": {"a": 3, "b": 2}}])
    assert joined == {"files": {"a": 1, "b": 2, "a (2)": 3}}
    refs = [FileRef(name=name, sha256=digest, size=1) for name, digest in (("a", "1"), ("a", "2"), ("c", "1"))]
    assert [ref.name for ref in labelled(refs)] == ["a", "a (2)"]


def test_what_is_retracted_holds_no_more_and_a_retraction_can_be_retracted() -> None:
    bodies = (told(findings={"x.y": "present"}), Retracted(seq=2))
    assert after(*bodies).facts == {}
    assert after(*bodies, Retracted(seq=3)).facts == {"x.y": True}
    assert after(*bodies, Retracted(seq=3), Retracted(seq=4)).facts == {}


def test_the_last_answer_holds() -> None:
    answered = (told(findings={"x.y": "present"}), told(findings={"x.y": "absent"}))
    assert after(*answered).facts == {"x.y": False}
    taken_back = after(*answered, told(asked="x.y", findings={"x.y": "unknown"}))
    assert taken_back.facts == {}
    assert taken_back.passed == {"x.y"}


def test_an_answer_after_all_is_asked_for_no_more_as_unanswerable() -> None:
    state = after(told(asked="x.y"), told(findings={"x.y": "present"}))
    assert state.facts == {"x.y": True}
    assert not state.passed


def test_a_check_that_cannot_be_made_is_passed() -> None:
    assert after(told(asked="look-at-log")).passed == {"look-at-log"}
    assert not after(told(asked="look-at-log", findings={"x.y": "present"})).passed


def test_resolving_and_opening_again() -> None:
    resolved = Resolved(outcome=Outcome(cause="a/b"))
    assert after(resolved).is_resolved
    assert not after(resolved, Reopened()).is_resolved
    last = after(resolved, Reopened(), Resolved(outcome=Outcome(other="the cable")))
    assert last.outcome == Outcome(other="the cable")


values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())


@given(st.dictionaries(st.text(min_size=1), st.recursive(values, lambda inner: st.lists(inner, max_size=3))))
def test_events_are_read_as_they_were_written(document: dict[str, Any]) -> None:
    written = events(document=document)[0].text()
    assert Event.read(written).text() == written


bodies = st.lists(
    st.one_of(
        st.builds(lambda n, s: told(findings={f"f.{n}": s}), st.integers(0, 2), st.sampled_from(["present", "absent"])),
        st.builds(lambda n: more(log=[str(n)]), st.integers(0, 9)),
    ),
    max_size=8,
)


@given(bodies, st.data())
def test_retracting_is_as_if_it_had_never_been_said(said: list[Body], data: st.DataObject) -> None:
    gone = data.draw(st.integers(0, len(said)))
    kept = said[:gone] + said[gone + 1 :]
    if gone < len(said):
        state, without = after(*said, Retracted(seq=gone + 2)), after(*kept)
        assert (state.document, dict(state.facts), state.passed) == (
            without.document,
            dict(without.facts),
            without.passed,
        )
