from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.knowledge.author import AuthorError, new_cause
from engine.knowledge.lint import lint
from engine.knowledge.load import load_cases, load_knowledge
from engine.model.base import Text

if TYPE_CHECKING:
    from .conftest import SmallKb

TITLE = Text(en='Gradients are "lost": all of them', zh="梯度丢失：全部")


def _errors(kb: SmallKb) -> list[str]:
    return [str(issue) for issue in lint(kb.root) if issue.severity == "error"]


def test_a_new_cause_loads_and_passes_the_linter(kb: SmallKb) -> None:
    paths = new_cause(kb.root, "numerics/lost-gradients", "fp16_range", TITLE)
    folder = kb.root / "causes" / "numerics"
    assert paths == [folder / "lost-gradients.yaml", folder / "lost-gradients.cases.yaml"]
    assert _errors(kb) == []
    cause = load_knowledge(kb.root).causes["numerics/lost-gradients"]
    assert (cause.status, cause.family, cause.title) == ("draft", "fp16_range", TITLE)
    assert cause.shows[0].finding == "activation.beyond-fp16"
    assert cause.checks == ("first-nonfinite-module",)


def test_its_examples_are_of_every_kind_and_name_its_findings(kb: SmallKb) -> None:
    new_cause(kb.root, "numerics/lost-gradients", "fp16_range", TITLE)
    shown = {link.finding for link in load_knowledge(kb.root).causes["numerics/lost-gradients"].shows}
    cases = [case.case for case in load_cases(kb.root) if case.cause_id == "numerics/lost-gradients"]
    assert [case.kind for case in cases] == ["fires", "fires", "near_miss", "healthy"]
    assert all(shown.issuperset(case.case["facts"]) for case in cases)  # type: ignore[arg-type]
    assert cases[0].case["facts"] == dict.fromkeys(cases[0].case["facts"], True)  # type: ignore[call-overload]
    assert cases[2].case["facts"]["activation.beyond-fp16"] is False  # type: ignore[index]


def test_a_new_mechanism_brings_its_check(kb: SmallKb) -> None:
    paths = new_cause(kb.root, "adapters/not-merged", "fp16_range", TITLE, with_mechanism=True)
    assert [path.relative_to(kb.root).as_posix() for path in paths[2:]] == [
        "findings/adapters.yaml",
        "checks/adapters.yaml",
    ]
    assert _errors(kb) == []
    knowledge = load_knowledge(kb.root)
    assert knowledge.findings["adapters.not-merged"].role == "mechanism"
    assert knowledge.checks["not-merged"].settles == ("adapters.not-merged",)


def test_a_second_mechanism_of_an_area_is_appended(kb: SmallKb) -> None:
    new_cause(kb.root, "adapters/not-merged", "fp16_range", TITLE, with_mechanism=True)
    new_cause(kb.root, "adapters/merged-twice", "fp16_range", TITLE, with_mechanism=True)
    assert {"adapters.not-merged", "adapters.merged-twice"} <= set(load_knowledge(kb.root).findings)


def test_a_prompt_must_be_replaced_before_it_leaves_draft(kb: SmallKb) -> None:
    new_cause(kb.root, "numerics/lost-gradients", "fp16_range", TITLE)
    kb.replace("causes/numerics/lost-gradients.yaml", "status: draft", "status: trial")
    assert {error.split()[1] for error in _errors(kb)} == {"KB307"}


@pytest.mark.parametrize(
    ("id_", "family", "says"),
    [
        ("numerics/fp16-overflow", "fp16_range", "never reused"),
        ("numerics", "fp16_range", "is no id"),
        ("../../etc/passwd", "fp16_range", "is no id"),
        ("numerics/new", "unheard_of", "families.yaml"),
    ],
)
def test_a_cause_that_cannot_be_is_refused(kb: SmallKb, id_: str, family: str, says: str) -> None:
    before = sorted(kb.root.rglob("*"))
    with pytest.raises(AuthorError, match=says):
        new_cause(kb.root, id_, family, TITLE)
    assert sorted(kb.root.rglob("*")) == before


def test_without_a_mechanism_to_choose_one_is_asked_for(kb: SmallKb) -> None:
    for path in (kb.root / "policies", kb.root / "gates", kb.root / "causes"):
        path.rename(path.with_name(f".{path.name}"))
    kb.write(
        "checks/core.yaml",
        (kb.root / "checks/core.yaml")
        .read_text()
        .replace("activation.beyond-fp16", "loss.became-nan")
        .replace("lr.far-above-usual", "loss.became-nan"),
    )
    with pytest.raises(AuthorError, match="with_mechanism"):
        new_cause(kb.root, "numerics/new", "fp16_range", TITLE)
