"""From conditions to alternatives of literals."""

from __future__ import annotations

import pytest

from engine.inference.normal_form import NEGATED, Literal, TooManyAlternativesError, alternatives

A = {"fact": "run.a", "is": True}
B = {"fact": "run.b", "at_least": 2}
FINDING = {"finding": "loss.nan"}


def shown(condition, holds: bool = True) -> list[list[str]]:
    """Alternatives as text, e.g. ``[["run.a == True"], ["run.b < 2.0"]]``."""
    return [[f"{i.subject} {i.comparison} {i.value}" for i in way] for way in alternatives(condition, holds)]


def test_de_morgan(make_condition) -> None:
    both = make_condition({"all": [A, B]})
    assert shown(both) == [["run.a == True", "run.b >= 2.0"]]
    assert shown(both, holds=False) == [["run.a != True"], ["run.b < 2.0"]]
    either = make_condition({"any": [A, B]})
    assert shown(either) == [["run.a == True"], ["run.b >= 2.0"]]
    assert shown(either, holds=False) == [["run.a != True", "run.b < 2.0"]]
    assert shown(make_condition({"not": {"any": [A, {"not": B}]}})) == [["run.a != True", "run.b >= 2.0"]]


@pytest.mark.parametrize(
    ("test", "true", "false"),
    [
        ({"between": [1, 2]}, [["x.y >= 1.0", "x.y <= 2.0"]], [["x.y < 1.0"], ["x.y > 2.0"]]),
        ({"one_of": [1, 2]}, [["x.y == 1.0"], ["x.y == 2.0"]], [["x.y != 1.0", "x.y != 2.0"]]),
        ({"is_not": "a"}, [["x.y != a"]], [["x.y == a"]]),
        ({"more_than": 1}, [["x.y > 1.0"]], [["x.y <= 1.0"]]),
        ({"less_than": 1}, [["x.y < 1.0"]], [["x.y >= 1.0"]]),
        ({"at_most": 1}, [["x.y <= 1.0"]], [["x.y > 1.0"]]),
    ],
)
def test_operators_and_their_negation(make_condition, test, true, false) -> None:
    condition = make_condition({"fact": "x.y", **test})
    assert shown(condition) == true
    assert shown(condition, holds=False) == false


def test_a_negated_comparison_still_needs_its_value(make_engine) -> None:
    engine = make_engine({"low": {"not": B}})
    assert "low" not in engine.decide({}, {})[0]
    assert engine.decide({"run.b": 1.0}, {})[0]["low"].holds is True
    assert engine.decide({"run.b": 2.0}, {})[0]["low"].holds is False


def test_findings_are_present_or_absent(make_condition) -> None:
    assert shown(make_condition(FINDING)) == [["loss.nan == True"]]
    assert shown(make_condition({**FINDING, "is": "absent"})) == [["loss.nan == False"]]
    assert shown(make_condition(FINDING), holds=False) == [["loss.nan == False"]]


def test_unknown_is_the_negation_of_known(make_condition) -> None:
    (known,), (unknown,) = (alternatives(make_condition({"fact": "x.y", word: True})) for word in ("known", "unknown"))
    assert (known[0].subject, known[0].value, unknown[0].value) == (unknown[0].subject, True, False)


def test_what_durable_rules_gets_wrong_is_computed(make_condition) -> None:
    for test in ({"contains": "a"}, {"matches": "a+"}, {"more_than": {"fact": "x.z", "times": 2}}):
        ((literal,),) = alternatives(make_condition({"fact": "x.y", **test}))
        assert (literal.kind, literal.comparison, literal.value) == ("computed", "==", True)
    assert literal.facts == ("x.y", "x.z")


def test_different_operands_are_different_computed_booleans(make_condition) -> None:
    def name(**operand: object) -> str:
        return alternatives(make_condition({"fact": "x.y", "is": {"fact": "x.z", **operand}}))[0][0].subject

    assert len({name(), name(times=2), name(plus=2), name(times=2, plus=2)}) == 4


def test_repeated_literals_and_alternatives_collapse(make_condition) -> None:
    assert shown(make_condition({"all": [A, A, B]})) == [["run.a == True", "run.b >= 2.0"]]
    assert shown(make_condition({"any": [A, A]})) == [["run.a == True"]]


def test_at_most_32_alternatives(make_condition) -> None:
    def either(count: int, name: str) -> dict[str, object]:
        return {"fact": f"x.{name}", "one_of": [float(i) for i in range(count)]}

    fits = make_condition({"all": [either(8, "a"), either(4, "b")]})
    assert len(alternatives(fits)) == 32
    with pytest.raises(TooManyAlternativesError, match="expands to 33 alternatives"):
        alternatives(make_condition({"any": [either(32, "a"), A]}))
    with pytest.raises(TooManyAlternativesError, match="expands to 36 alternatives, at most 32"):
        alternatives(make_condition({"all": [either(9, "a"), either(4, "b")]}))


def test_negation_is_its_own_inverse() -> None:
    for comparison in NEGATED:
        literal = Literal("fact", "x.y", comparison, 1.0)
        assert literal.negated().negated() == literal
