# ruff: noqa: E501 - one damage a line
"""The golden knowledge base has no issue at all; each damage below brings out exactly the rule it is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.knowledge.lint import RULES, lint

if TYPE_CHECKING:
    from .conftest import SmallKb

FACTS, FINDINGS, CHECKS = "facts/run.yaml", "findings/core.yaml", "checks/core.yaml"
SIGNATURES, GATE = "signatures/core.yaml", "gates/weights/finite.yaml"
POLICY = "policies/any.yaml"
CAUSE, RIVAL = "causes/numerics/fp16-overflow.yaml", "causes/optimization/lr-too-high.yaml"
CASES, HEALTHY = "causes/numerics/fp16-overflow.cases.yaml", "healthy/runs.yaml"

SCALE = "{fact: amp.loss_scale, at_most: 1}"
LONG = "x" * 81
LEVELS = "".join(
    f"\n- id: level.number-{n}\n  title: {{en: Level, zh: 层}}\n  when: {{finding: {below}}}"
    for n, below in enumerate(["amp.scale-collapsed", "level.number-0", "level.number-1", "level.number-2"])
)
WAYS = ", ".join(f"{{any: [{{fact: lr.peak, is: {n}}}, {{fact: lr.usual, is: {n}}}]}}" for n in range(6))

# code, file that is damaged, what is replaced, by what, line of the issue, words of message or hint
DAMAGES = [
    ("KB001", FACTS, "type: bool", "type: boolean", 10, "'number', 'bool'"),
    ("KB001", CASES, "kind: near_miss", "kind: near", 10, "'near_miss'"),
    ("KB101", CAUSE, "id: numerics/fp16-overflow", "id: numerics/other", 1, "Write 'id: numerics/fp16-overflow'"),
    ("KB101", GATE, "id: weights/finite", "id: weights/other", 1, "Write 'id: weights/finite'"),
    ("KB102", FINDINGS, SCALE, "{fact: amp.los_scale, at_most: 1}", 11, "Did you mean amp.loss_scale"),
    ("KB102", SIGNATURES, "{scale: amp.loss_scale}", "{scale: amp.scala}", 6, "no fact 'amp.scala'"),
    ("KB102", FINDINGS, "at_least: 10", "at_least: {fact: lr.mean}", 20, "no fact 'lr.mean'"),
    ("KB103", CAUSE, "contrast(precision)", "contrast(library)", 18, "no finding 'contrast(library)'"),
    ("KB103", FINDINGS, "finding: precision.is-fp16", "finding: precision.fp16", 10, "Did you mean precision.is-fp16"),
    ("KB103", CASES, "present: [amp.scale-collapsed]", "present: [amp.collapsed]", 4, "no finding 'amp.collapsed'"),
    ("KB103", CHECKS, "settles: [lr.far-above-usual]", "settles: [lr.far-above-usual, a.b]", 11, "no finding 'a.b'"),
    ("KB104", CAUSE, "cause: optimization/lr-too-high", "cause: optimization/lr", 24, "no cause 'optimization/lr'"),
    ("KB104", GATE, "leads_to: [numerics/fp16-overflow]", "leads_to: [numerics/fp16]", 9, "no cause"),
    ("KB105", CAUSE, "checks: [first-nonfinite-module]", "checks: [first-nonfinite-module, second]", 19, "'second'"),
    ("KB106", RIVAL, "family: lr_too_high", "family: lr_to_high", 2, "Did you mean lr_too_high"),
    ("KB107", RIVAL, "status: trial\nstation: optimizer", "station: optimizer\nstatus: trial", 4, "before 'status'"),
    ("KB108", FACTS, "title: {en: Loss scale, zh: 损失缩放}", "title: {en: Loss scale, zh: 损失缩放}\n  aliases: [scale, LR Peak]", 14, "'lr.peak' already means 'amp.loss_scale'"),
    ("KB109", POLICY, "requires: [weights/finite]", "requires: [weights/finit]", 3, "Did you mean weights/finite"),
    ("KB201", FINDINGS, "{fact: run.precision, is: fp16}", "{fact: run.precision, is: 16}", 3, "is a choice"),
    ("KB201", FINDINGS, "{fact: run.precision, is: fp16}", "{fact: run.precision, is: fp61}", 3, "fp16, bf16"),
    ("KB201", FINDINGS, "{fact: loss.nan, is: true}", "{fact: loss.nan, at_least: 1}", 16, "does not work on"),
    ("KB201", FINDINGS, SCALE, '{fact: amp.loss_scale, is: "1"}', 11, "a number and is compared with '1'"),
    ("KB201", FINDINGS, SCALE, "{fact: amp.loss_scale, one_of: [1, x]}", 11, "compared with 'x'"),
    ("KB201", FINDINGS, SCALE, "{fact: amp.loss_scale, at_most: {fact: loss.nan}}", 11, "facts of one type"),
    ("KB201", FINDINGS, SCALE, '{fact: amp.loss_scale, contains: "1"}', 11, "'contains' does not work"),
    ("KB202", FINDINGS, SCALE, f"{{any: [{{not: {{all: [{SCALE}]}}}}]}}", 8, "4 deep"),
    ("KB203", FINDINGS, "when: {fact: run.precision, is: fp16}", "when: {finding: amp.scale-collapsed}", 8, "rests on itself"),
    ("KB204", FINDINGS, "\n- id: loss.became-nan", LEVELS + "\n- id: loss.became-nan", 0, "level 5"),
    ("KB205", FINDINGS, SCALE, f"{{all: [{WAYS}]}}", 8, "the ways in which it is true: it expands to 64"),
    ("KB205", FINDINGS, "when: {fact: loss.nan, is: true}", f"when: {{not: {{all: [{WAYS}]}}}}", 16, "it is false"),
    ("KB206", FINDINGS, "known: true}", 'matches: "(?=x)"}', 24, "does not compile"),
    ("KB207", FACTS, "derive: lr.peak / lr.usual", "derive: lr.peak ** lr.usual", 22, "lr"),
    ("KB207", FACTS, "derive: lr.peak / lr.usual", "derive: lr.peak / lr.mean", 22, "no fact 'lr.mean'"),
    ("KB208", FACTS, "derive: lr.peak / lr.usual", "derive: lr.peak / lr.usual + lr.ratio", 22, "derived from itself"),
    ("KB301", CHECKS, "en: Compare the learning rate", f"en: {LONG}", 8, "81 characters"),
    ("KB302", CHECKS, "zh: 对比学习率", "zh: compare", 8, "no Chinese character"),
    ("KB302", CAUSE, "zh: [fp16 训练若干步后损失变 NaN。, ", "zh: [fp16 NaN, ", 12, "no Chinese character"),
    ("KB303", FINDINGS, "LOSS became NAN", "LOSS became INFINITE", 17, "no concept 'INFINITE'"),
    ("KB303", FACTS, "phrases: {any: [LOSS NAN]}", "phrases: {any: [LOSS BAD]}", 12, "no concept 'BAD'"),
    ("KB304", FACTS, "phrases: {any: [LOSS NAN]}", "phrases: {any: [LOSS is NAN]}", 12, "'is' belongs to one language"),
    ("KB305", FINDINGS, "fallen to {amp.loss_scale}.", "fallen to {amp.scale}.", 12, "'{amp.scale}' stands for nothing"),
    ("KB305", FINDINGS, "降到了 {amp.loss_scale}。", "降到了底。", 12, "different values"),
    ("KB305", FINDINGS, "en: Did the loss scale fall to 1?", 'en: "Is it {amp.loss_scale}?"', 13, "only 'because' shows values"),
    ("KB306", SIGNATURES, "unless: growing", 'unless: "(grow"', 3, "does not compile"),
    ("KB306", SIGNATURES, "examples: [loss scale reduced", "examples: [loss reduced", 7, "misses this line"),
    ("KB306", SIGNATURES, "counter_examples: [loss scale growing", "counter_examples: [loss scale shrinks", 8, "takes this line"),
    ("KB306", SIGNATURES, "fields: {scale: ", "fields: {scala: ", 6, "no group 'scala'"),
    ("KB307", CHECKS, "en: Register forward hooks and rerun the step.", "en: <what to do>", 3, "the template's"),
    ("KB307", CAUSE, "The scaler keeps halving until it dies.", "<the same in other words>", 11, "the template's"),
    ("KB308", FINDINGS, "en: [LOSS became NAN]", 'en: ["good. LOSS NAN"]', 17, "is never read"),
    ("KB401", RIVAL, "how: usually", "how: often", 12, "usually or always"),
    ("KB403", FINDINGS, "at_least: 10}\n  role: mechanism", "at_least: 10}\n  role: symptom", 0, "no finding is a mechanism"),
    ("KB405", RIVAL, "finding: contrast(version), how: rarely", "finding: loss.became-nan, how: rarely", 15, "shown twice"),
    ("KB405", RIVAL, "confused_with:", "rules_out: [{finding: loss.became-nan, is: present}]\nconfused_with:", 19, "rules it out"),
    ("KB409", RIVAL, "en: [Loss explodes after warmup., It", "en: [It", 9, "1 different wordings in 'en'"),
    ("KB502", CASES, "{log: [loss scale reduced to 0.5], facts: {module.first_nonfinite: attention}}",
     '{report: "loss is nan, the scaler sits at 1", facts: {run.precision: fp16, amp.loss_scale: 1}}', 7, "same words"),
    ("KB504", CASES, "log: [loss scale reduced to 0.5]", "logs: [loss scale reduced to 0.5]", 7, "logs"),
    ("KB504", CASES, "module.first_nonfinite: attention", "module.first: attention", 7, "no fact or finding 'module.first'"),
    ("KB504", HEALTHY, "case: {report: loss is falling as it should}", "case: {}", 3, "says nothing"),
    ("KB505", CASES, "expect: {rank: 1}", "expect: {}", 8, "rank: 1"),
    ("KB505", HEALTHY, "expect: {silent: true}", "expect: {unknown: true}", 4, "silent: true"),
    ("KB601", FACTS, "\n- id: module", "\n- id: loss.zero\n  type: bool\n  title: {en: Zero, zh: 零}\n- id: module", 23, "'loss.zero'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "relative", "old", "new", "line", "words"), DAMAGES, ids=[f"{row[0]}-{n}" for n, row in enumerate(DAMAGES)]
)
def test_a_rule_finds_its_damage(
    kb: SmallKb, code: str, relative: str, old: str, new: str, line: int, words: str
) -> None:
    kb.replace(relative, old, new)
    found = [issue for issue in lint(kb.root) if issue.code == code]
    assert found, [str(issue) for issue in lint(kb.root)]
    assert any(words in f"{issue.message}. {issue.hint}" for issue in found), [str(issue) for issue in found]
    if line:
        assert (str(kb.root / relative), line) in {(issue.file, issue.line) for issue in found}, [str(i) for i in found]


def _codes(kb: SmallKb) -> set[str]:
    return {issue.code for issue in lint(kb.root)}


def test_the_golden_knowledge_has_no_issue(kb: SmallKb) -> None:
    assert [str(issue) for issue in lint(kb.root)] == []


def test_units_must_agree_unless_converted(kb: SmallKb) -> None:
    kb.replace(FACTS, "title: {en: Peak learning rate, zh: 峰值学习率}", "title: {en: Peak, zh: 峰值}\n  unit: s")
    kb.replace(
        FINDINGS,
        "{fact: lr.ratio, at_least: 10}",
        "{any: [{fact: lr.ratio, at_least: 10}, {fact: lr.peak, more_than: {fact: lr.usual}}]}",
    )
    assert _codes(kb) == {"KB201"}
    kb.replace(FINDINGS, "more_than: {fact: lr.usual}", "more_than: {fact: lr.usual, times: 60}")
    assert _codes(kb) == set()


def test_two_visible_findings_are_needed(kb: SmallKb) -> None:
    for id_ in ("lr.far-above-usual", "loss.became-nan"):
        kb.replace(FINDINGS, f"- id: {id_}\n", f"- id: {id_}\n  visible: false\n")
    (issue,) = lint(kb.root)
    assert (issue.code, issue.line) == ("KB402", 12)
    assert issue.message == "1 of its findings can be seen without a check"


def test_a_check_that_settles_nothing_of_the_cause_or_its_rivals(kb: SmallKb) -> None:
    kb.append(
        CHECKS,
        "- id: reread\n  title: {en: Read, zh: 读}\n  how: {en: Read., zh: 读。}\n  minutes: 1\n  settles: [late.news]\n",
    )
    kb.append(FINDINGS, "- {id: late.news, title: {en: News, zh: 新闻}}\n")
    kb.replace(CAUSE, "checks: [first-nonfinite-module]", "checks: [first-nonfinite-module, reread]")
    assert _codes(kb) == {"KB404", "KB602"}
    # What only the rival shows is worth settling too: it separates the two.
    kb.replace(RIVAL, "  - {finding: contrast(version), how: rarely}\n", "  - {finding: late.news, how: rarely}\n")
    assert "KB404" not in _codes(kb)


def _twin(kb: SmallKb, *changes: tuple[str, str]) -> set[str]:
    """The codes that a second cause beside the rival brings about, with these changes to its text."""
    text = (kb.root / RIVAL).read_text(encoding="utf-8").replace("id: optimization/lr-too-high", "id: numerics/twin")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    kb.write("causes/numerics/twin.yaml", text)
    return _codes(kb)


@pytest.mark.parametrize("family", ["fp16_range", "lr_too_high"])
def test_two_causes_must_differ(kb: SmallKb, family: str) -> None:
    assert "KB406" in _twin(kb, ("family: lr_too_high", f"family: {family}"))
    assert "KB406" not in _twin(kb, ("how: sometimes", "how: often"))


def test_causes_that_no_check_separates_are_named_with_what_comes_nearest(kb: SmallKb) -> None:
    assert "KB410" in _twin(kb, ("how: sometimes", "how: often"))
    (issue,) = [i for i in lint(kb.root) if i.code == "KB410" and "'optimization/lr-too-high'" in i.message]
    assert issue.severity == "warning"
    assert " bit of the one it takes" in issue.message
    assert "an 'ask' or a check" in issue.hint
    own = "- {id: twin.proof, title: {en: Proof, zh: 证据}, role: mechanism, ask: {en: Is it so?, zh: 是吗？}}\n"
    kb.append(FINDINGS, own)
    assert "KB410" not in _twin(kb, ("contrast(version), how: rarely", "twin.proof, how: always"))


def test_a_cause_that_shows_nothing_of_its_own_is_subsumed(kb: SmallKb) -> None:
    assert "KB411" in _twin(kb, ("how: sometimes", "how: often"))
    assert "KB411" not in _twin(kb, ("how: sometimes", "how: often"), ("how: usually", "how: often"))


def test_two_findings_of_one_condition_count_twice_unless_they_share_a_group(kb: SmallKb) -> None:
    copy = "- id: loss.is-nan\n  title: {en: NaN, zh: 非数}\n  when: {fact: loss.nan, is: true}\n"
    kb.append(FINDINGS, copy)
    assert "KB209" in _codes(kb)
    kb.replace(FINDINGS, copy, copy + "  group: nan\n")
    kb.replace(FINDINGS, "- id: loss.became-nan\n", "- id: loss.became-nan\n  group: nan\n")
    assert "KB209" not in _codes(kb)


def test_confusion_is_asked_for_and_works_both_ways(kb: SmallKb) -> None:
    text = (kb.root / RIVAL).read_text(encoding="utf-8")
    start, end = text.index("confused_with"), text.index("blind_spots")
    kb.write(RIVAL, text[:start] + text[end:])
    issues = lint(kb.root)
    assert {(issue.code, issue.severity) for issue in issues} == {("KB407", "warning"), ("KB408", "warning")}
    assert any(RIVAL in issue.hint for issue in issues)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("kind: healthy", "kind: near_miss", "0 examples are 'healthy'"),
        ("kind: near_miss\n", "kind: healthy\n", "0 examples are 'near_miss'"),
        ("expect: {rank: 1}", "expect: {rank: 2}", "1 examples are 'fires' with rank 1"),
    ],
)
def test_a_stable_cause_is_proven(kb: SmallKb, old: str, new: str, what: str) -> None:
    kb.replace(CASES, old, new)
    (issue,) = [issue for issue in lint(kb.root) if issue.code == "KB501"]
    assert what in issue.message
    kb.replace(CAUSE, "status: stable", "status: trial")
    assert "KB501" not in _codes(kb)


def test_examples_without_a_cause(kb: SmallKb) -> None:
    (kb.root / CASES).rename(kb.root / "causes/numerics/lost.cases.yaml")
    assert {"KB503", "KB501"} <= _codes(kb)


REPORT = "- cause: {cause}\n  said: [Loss is NaN after some hundred steps, it never comes back]\n"


def test_a_report_of_no_cause(kb: SmallKb) -> None:
    kb.write("reports/numerics.yaml", REPORT.format(cause="numerics/fp16-overflow"))
    assert lint(kb.root) == []
    kb.write("reports/numerics.yaml", REPORT.format(cause="numerics/fp16-overflown"))
    (issue,) = lint(kb.root)
    assert (issue.code, issue.line) == ("KB507", 1)
    assert "no cause 'numerics/fp16-overflown'" in issue.message


def test_the_same_report_under_two_causes(kb: SmallKb) -> None:
    kb.write("reports/numerics.yaml", REPORT.format(cause="numerics/fp16-overflow"))
    kb.write("reports/optimization.yaml", REPORT.format(cause="optimization/lr-too-high"))
    (issue,) = lint(kb.root)
    assert (issue.code, Path(issue.file).name) == ("KB507", "optimization.yaml")
    assert "stands under 'numerics/fp16-overflow'" in issue.message


def test_a_report_that_says_nothing(kb: SmallKb) -> None:
    kb.write("reports/numerics.yaml", "- {cause: numerics/fp16-overflow, said: [short]}\n")
    assert any("has 5 characters" in issue.message for issue in lint(kb.root))


def test_unused_objects_are_warnings(kb: SmallKb) -> None:
    kb.append(FINDINGS, "- {id: late.news, title: {en: News, zh: 新闻}}\n")
    kb.append(
        CHECKS,
        "- id: reread\n  title: {en: Read, zh: 读}\n  how: {en: Read., zh: 读。}\n  minutes: 1\n  settles: [late.news]\n",
    )
    assert {(issue.code, issue.severity) for issue in lint(kb.root)} == {("KB602", "warning"), ("KB603", "warning")}


def test_a_broken_object_is_told_once_and_not_at_every_reference(kb: SmallKb) -> None:
    kb.replace(FACTS, "type: choice", "type: choise")
    kb.replace(FINDINGS, "- id: contrast\n  title", "- id: contrast\n  tilte")
    assert _codes(kb) == {"KB001"}
    kb.replace(CAUSE, "checks: [", "checks: [[")
    assert "KB104" not in _codes(kb)


@pytest.mark.parametrize("relative", ["lexicon.yaml", "families.yaml"])
def test_a_broken_vocabulary_is_told_once(kb: SmallKb, relative: str) -> None:
    kb.append(relative, "broken: [\n")
    assert [issue.code for issue in lint(kb.root)] == ["KB001"]


def test_retired_causes_are_left_alone(kb: SmallKb) -> None:
    kb.replace(RIVAL, "family: lr_too_high", "family: gone_family")
    kb.replace(RIVAL, "status: trial", "status: retired")
    assert "KB106" not in _codes(kb)


def test_an_overlay_is_judged_with_its_base(kb: SmallKb, tmp_path: Path) -> None:
    site = tmp_path / "site" / "causes" / "numerics"
    site.mkdir(parents=True)
    text = (kb.root / CAUSE).read_text(encoding="utf-8").replace("fp16_range", "unheard_of")
    (site / "fp16-overflow.yaml").write_text(text, encoding="utf-8")
    assert [issue.code for issue in lint(kb.root, overlay=tmp_path / "site")] == ["KB106"]


def test_codes_are_unique_and_each_is_proven_here_or_with_the_ids() -> None:
    codes = [rule.code for rule in RULES]
    assert len(codes) == len(set(codes))
    source = "".join(
        Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("test_lint.py", "test_ids.py")
    )
    assert [code for code in codes if f'"{code}"' not in source] == []


def test_an_issue_reads_as_one_line(kb: SmallKb) -> None:
    kb.replace(RIVAL, "family: lr_too_high", "family: lr_to_high")
    (issue,) = lint(kb.root)
    assert str(issue) == (
        f"{kb.root / RIVAL}:2: KB106 error: there is no family 'lr_to_high'. Did you mean lr_too_high?"
    )
