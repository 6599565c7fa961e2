"""What holds for the knowledge base as a whole; the rules themselves are tested in tests/engine/knowledge."""

from __future__ import annotations

import pytest

from engine.knowledge.files import default_root, read_files
from engine.knowledge.ids import read_lock
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.lint import RULES, Issue, lint
from engine.knowledge.load import load_cases, load_knowledge
from engine.knowledge.pages import explain
from engine.knowledge.schema import stale_schemas
from engine.knowledge.shelf import Shelf
from tests.effort import effort

MAX_CAUSE_LINES = 60
MAX_CAUSE_LINES_HARD = 150


@pytest.fixture(scope="module")
def issues() -> list[Issue]:
    """Of all rules but those that can only warn, which take three times as long: `kb lint` shows what they find."""
    return lint(rules=[rule for rule in RULES if rule.severity == "error" or rule.code == "KB703"])


def test_no_rule_is_broken(issues: list[Issue]) -> None:
    assert [str(issue) for issue in issues if issue.severity == "error"] == []


def test_every_id_is_locked(issues: list[Issue]) -> None:
    assert read_lock(default_root()) is not None
    assert [str(issue) for issue in issues if issue.code == "KB703"] == []


def test_the_examples_load() -> None:
    assert all(case.file.is_file() for case in load_cases())


def test_the_schemas_are_fresh() -> None:
    assert stale_schemas(default_root()) == [], "engine.knowledge.schema.write_schemas makes them anew"


def test_a_cause_fits_one_screen() -> None:
    long = {
        file.relative: lines
        for file in read_files(default_root())
        if file.relative.startswith("causes/")
        and not file.relative.endswith(".cases.yaml")
        and (lines := file.content.count(b"\n")) > MAX_CAUSE_LINES_HARD
    }
    assert long == {}, f"aim at {MAX_CAUSE_LINES} lines"


def whole(knowledge: Knowledge) -> Knowledge:
    """With every object made: what an earlier process kept is made object by object."""
    return knowledge.model_copy(update={name: dict(value) for name, value in knowledge if isinstance(value, Shelf)})


def test_loading_twice_gives_the_same(knowledge: Knowledge) -> None:
    again = load_knowledge(use_cache=False)  # the other may have been kept from an earlier time
    assert again == knowledge
    assert again.model_dump_json(by_alias=True) == whole(knowledge).model_dump_json(by_alias=True)


def test_what_the_cache_keeps_is_what_was_read(knowledge: Knowledge) -> None:
    kept = whole(knowledge).model_dump_json(by_alias=True, exclude_defaults=True)
    assert Knowledge.model_validate_json(kept) == knowledge


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "kind", ["facts", "findings", "causes", "checks", "gates", "signatures", "pipelines", "advice"]
)
def test_objects_have_a_page(knowledge: Knowledge, kind: str, lang: str) -> None:
    for id_ in list(getattr(knowledge, kind))[:: effort(5, 1)]:
        assert explain(knowledge, id_, "zh" if lang == "zh" else "en").startswith("# ")
