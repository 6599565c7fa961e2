from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.knowledge.load import load_knowledge
from engine.knowledge.pages import UnknownObjectError, explain, say
from engine.knowledge.stats import stats
from engine.model.conditions import AllOf, AnyOf, FactOperand, FactTest, FindingTest, NotOf

if TYPE_CHECKING:
    from .conftest import SmallKb

CONDITION = AllOf(
    all=(
        FactTest(fact="a.b", one_of=("x", 2.0)),
        AnyOf(any=(FindingTest(finding="f.g", is_="absent"), FactTest(fact="c.d", is_=True))),
        NotOf(not_=FactTest(fact="e.f", more_than=FactOperand(fact="g.h", times=2, plus=1))),
        FactTest(fact="i.j", unknown=True),
    )
)


def test_a_condition_reads_as_a_sentence_in_both_languages() -> None:
    assert say(CONDITION) == (
        "(`a.b` one of x, 2 and (`f.g` is absent or `c.d` is true) and not `e.f` more than 2 × `g.h` + 1"
        " and `i.j` is unknown)"
    )
    assert say(CONDITION, "zh") == (
        "(`a.b` 属于 x, 2 且 (`f.g` 为 不存在 或 `c.d` 为 true) 且 非 `e.f` 大于 2 × `g.h` + 1 且 `i.j` 未知)"
    )


def test_the_page_of_a_cause_says_all_of_it(kb: SmallKb) -> None:
    page = explain(load_knowledge(kb.root), "numerics/fp16-overflow")
    for part in (
        "# Half-precision activations overflow",
        "Cause `numerics/fp16-overflow`",
        "Family: fp16_range · Status: stable · Station: forward",
        "- usually: Loss scale fell to its floor (`amp.scale-collapsed`)",
        "- Find the first module with a non-finite output (`first-nonfinite-module`)",
        "- Train in bf16. (usually; Minutes: 10, Risk: low) Undo: Restore fp16.",
        "- Learning rate too high (`optimization/lr-too-high`): The scale fell before the loss moved.",
        "[Mixed precision training](https://arxiv.org/abs/1710.03740)",
        "## Blind spots",
    ):
        assert part in page


@pytest.mark.parametrize(
    ("id_", "title", "part"),
    [
        ("numerics/fp16-overflow", "# 半精度激活溢出", "- 总是: 使用 fp16 训练 (`precision.is-fp16`)"),
        ("amp.scale-collapsed", "# 损失缩放降到下限", "- 通常: 半精度激活溢出 (`numerics/fp16-overflow`)"),
        ("amp.loss_scale", "# 损失缩放", "- 损失缩放降到下限 (`amp.scale-collapsed`)"),
        ("lr.ratio", "# 峰值与常用之比", "`lr.peak / lr.usual`"),
        ("first-nonfinite-module", "# 找出最先输出非有限值的模块", "- 激活超出 fp16 范围 (`activation.beyond-fp16`)"),
        ("weights/finite", "# 权重均为有限值", "`loss.nan` 为 false"),
        ("loss-scale-floor", "# loss-scale-floor", "- `amp.loss_scale`"),
        ("contrast(version)", "# 换库版本后结果不同", "- 很少: 学习率过高 (`optimization/lr-too-high`)"),
    ],
)
def test_every_kind_has_a_page_in_chinese(kb: SmallKb, id_: str, title: str, part: str) -> None:
    page = explain(load_knowledge(kb.root), id_, "zh")
    assert page.startswith(title + "\n")
    assert part in page


def test_an_unknown_id_is_answered_with_the_nearest(kb: SmallKb) -> None:
    with pytest.raises(UnknownObjectError, match=r"'amp.los_scale'; did you mean amp.loss_scale"):
        explain(load_knowledge(kb.root), "amp.los_scale")


def test_stats_count_what_there_is(kb: SmallKb) -> None:
    kb.replace("causes/optimization/lr-too-high.yaml", "status: trial", "status: draft")
    counted = stats(load_knowledge(kb.root))
    assert counted.objects["facts"] == 7
    assert counted.objects["findings"] == 7
    assert counted.causes_by_status == {"draft": 1, "stable": 1}
    assert counted.causes_by_area == {"numerics": 1, "optimization": 1}
    assert counted.findings_by_role == {"context": 1, "mechanism": 2, "symptom": 4}
    assert counted.families_without_cause == ("lr_too_high",)
    assert counted.links_per_cause == 5
