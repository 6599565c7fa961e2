from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.knowledge.load import load_cases, load_knowledge
from engine.knowledge.problems import KbError

if TYPE_CHECKING:
    from .conftest import SmallKb


def test_the_golden_knowledge_is_read_whole_and_sorted(kb: SmallKb) -> None:
    knowledge = load_knowledge(kb.root)
    assert knowledge.version == "1.2.3"
    assert list(knowledge.causes) == ["numerics/fp16-overflow", "optimization/lr-too-high"]
    assert list(knowledge.facts) == sorted(knowledge.facts)
    assert list(knowledge.findings) == sorted(knowledge.findings)
    assert knowledge.families["fp16_range"].area == "numerics"
    assert knowledge.lexicon["NAN"].zh == ("非数",)
    assert list(knowledge.gates) == ["weights/finite"]
    assert list(knowledge.signatures) == ["loss-scale-floor"]
    assert knowledge.calibration.links["always"] > knowledge.calibration.links["rarely"]


def test_parametrised_findings_are_expanded(kb: SmallKb) -> None:
    findings = load_knowledge(kb.root).findings
    assert "contrast" not in findings
    version = findings["contrast(version)"]
    assert version.title.en == "Works with one library version, fails with another"
    assert version.title.zh == "换库版本后结果不同"
    assert version.ask is not None
    assert version.ask.zh == "是否与库版本有关？"
    assert version.phrases.en == ("only with this library version", "after upgrading")
    assert version.phrases.zh == ("升级之后",)
    assert version.parameter is None
    assert findings["contrast(precision)"].phrases.en == ("only with this precision",)


def test_drafts_and_retired_causes_are_not_active(kb: SmallKb) -> None:
    kb.replace("causes/optimization/lr-too-high.yaml", "status: trial", "status: draft")
    knowledge = load_knowledge(kb.root)
    assert set(knowledge.causes) - set(knowledge.active_causes) == {"optimization/lr-too-high"}
    kb.replace("causes/optimization/lr-too-high.yaml", "status: draft", "status: retired")
    assert "optimization/lr-too-high" not in load_knowledge(kb.root).active_causes


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("finding: loss.became-nan", "finding: loss.became-non", "there is no finding 'loss.became-non'"),
        ("checks: [", "checks: [no-such-check, ", "there is no check 'no-such-check'"),
        ("cause: numerics/fp16-overflow", "cause: numerics/gone", "there is no cause 'numerics/gone'"),
    ],
)
def test_what_does_not_exist_is_named_with_the_cause_and_its_place(kb: SmallKb, old: str, new: str, said: str) -> None:
    kb.replace("causes/optimization/lr-too-high.yaml", old, new)
    with pytest.raises(KbError) as caught:
        load_knowledge(kb.root)
    [problem] = caught.value.problems
    assert problem.file.endswith("causes/optimization/lr-too-high.yaml")
    assert problem.line > 1
    assert problem.reason == f"optimization/lr-too-high: {said}"
    assert problem.hint


def test_every_problem_of_every_file_is_told(kb: SmallKb) -> None:
    kb.replace("facts/run.yaml", "type: bool", "type: boolean")
    kb.replace("checks/core.yaml", "minutes: 2", "minutes: yes")
    kb.replace("causes/optimization/lr-too-high.yaml", "prior: common", "prior: often")
    with pytest.raises(KbError) as caught:
        load_knowledge(kb.root)
    files = [Path(problem.file).name for problem in caught.value.problems]
    assert files == ["lr-too-high.yaml", "core.yaml", "run.yaml"]
    assert [problem.line for problem in caught.value.problems] == [8, 10, 10]


def test_a_word_that_yaml_refuses_is_told_once(kb: SmallKb) -> None:
    kb.replace("findings/core.yaml", "visible: false", "visible: no")
    with pytest.raises(KbError) as caught:
        load_knowledge(kb.root)
    assert len(caught.value.problems) == 1


def test_an_id_stands_once(kb: SmallKb) -> None:
    kb.write("facts/again.yaml", "- {id: loss.nan, type: bool, title: {en: x, zh: 字}}\n")
    with pytest.raises(KbError, match=r"'loss.nan' stands twice, first in facts/again.yaml:1"):
        load_knowledge(kb.root)


@pytest.mark.parametrize("relative", ["notes.yaml", "causes/loose.yaml", "facts/deep/x.yaml", "facts/x.yml"])
def test_a_file_in_the_wrong_place_is_not_ignored(kb: SmallKb, relative: str) -> None:
    kb.write(relative, "- a\n")
    with pytest.raises(KbError, match="no part of the knowledge base reads this file"):
        load_knowledge(kb.root)


def test_a_list_is_asked_for(kb: SmallKb) -> None:
    kb.write("facts/one.yaml", "id: a.b\n")
    with pytest.raises(KbError, match="is a list"):
        load_knowledge(kb.root)


def test_the_numbers_are_not_optional(kb: SmallKb) -> None:
    (kb.root / "calibration.yaml").unlink()
    with pytest.raises(KbError, match=r"calibration.yaml:1:1: the file is missing"):
        load_knowledge(kb.root)


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(KbError, match="no such folder"):
        load_knowledge(tmp_path / "nowhere")


def test_an_overlay_replaces_and_adds(kb: SmallKb, tmp_path: Path) -> None:
    plain = load_knowledge(kb.root)
    site = tmp_path / "site"
    (site / "facts").mkdir(parents=True)
    (site / "facts" / "mine.yaml").write_text(
        "- {id: loss.nan, type: bool, title: {en: Mine, zh: 我的}}\n"
        "- {id: site.rack, type: text, title: {en: Rack, zh: 机柜}}\n"
    )
    (site / "lexicon.yaml").write_text("LOSS: {en: [cost]}\nRACK: {en: [rack]}\n")
    (site / "families.yaml").write_text("numerics: {site_special: ours}\n")
    both = load_knowledge(kb.root, overlay=site)
    assert both.facts["loss.nan"].title.en == "Mine"
    assert "site.rack" in both.facts
    assert both.lexicon["LOSS"].en == ("cost",)
    assert {"RACK", "NAN"} <= set(both.lexicon)
    assert {"site_special", "fp16_range"} <= set(both.families)
    assert both.version == plain.version
    assert both.digest != plain.digest


def test_the_digest_is_of_names_and_bytes(kb: SmallKb) -> None:
    first = load_knowledge(kb.root).digest
    assert load_knowledge(kb.root).digest == first
    kb.append("kb.yaml", "# a comment\n")
    second = load_knowledge(kb.root).digest
    (kb.root / "facts" / "run.yaml").rename(kb.root / "facts" / "other.yaml")
    assert len({first, second, load_knowledge(kb.root).digest}) == 3


def test_examples_know_their_owner_and_line(kb: SmallKb) -> None:
    cases = load_cases(kb.root)
    assert [(case.cause_id, case.case.name, case.line) for case in cases][:2] == [
        ("numerics/fp16-overflow", "scale at its floor", 1),
        ("numerics/fp16-overflow", "first bad module", 5),
    ]
    assert cases[-1].cause_id is None
    assert cases[-1].file == kb.root / "healthy" / "runs.yaml"


def test_reports_are_known_by_their_cause(kb: SmallKb) -> None:
    before = load_knowledge(kb.root)
    kb.write("reports/a.yaml", "- {cause: numerics/fp16-overflow, said: [Loss is NaN since noon]}\n")
    kb.write("reports/b.yaml", "- {cause: numerics/fp16-overflow, said: [The scaler sits at one]}\n")
    knowledge = load_knowledge(kb.root)
    assert knowledge.reports == {"numerics/fp16-overflow": ("Loss is NaN since noon", "The scaler sits at one")}
    assert knowledge.digest != before.digest


def test_broken_examples_do_not_stop_a_diagnosis(kb: SmallKb) -> None:
    kb.replace("causes/numerics/fp16-overflow.cases.yaml", "kind: near_miss", "kind: nearly")
    load_knowledge(kb.root)
    with pytest.raises(KbError, match="nearly"):
        load_cases(kb.root)


@given(st.text(max_size=200), st.sampled_from(["facts/x.yaml", "causes/a/b.yaml", "kb.yaml", "lexicon.yaml"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_file_crashes_the_loader(kb: SmallKb, text: str, relative: str) -> None:
    (kb.root / relative).parent.mkdir(parents=True, exist_ok=True)
    (kb.root / relative).write_bytes(text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(KbError):
        load_knowledge(kb.root, use_cache=False)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/nowhere/at/all")])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, make):
    (tmp_path / "facts").mkdir()
    make(tmp_path / "facts" / "odd.yaml")
    with pytest.raises(KbError, match="no regular file"):
        load_knowledge(tmp_path)
