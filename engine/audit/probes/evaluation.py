"""Evidence of evaluations: is it of this model, taken alike and whole, and does it show what the release needs?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from engine.audit.evaluation.files import NoEvidenceError, declared
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.evaluation.comparison import Judged
    from engine.audit.evaluation.results import Results
    from engine.audit.ledger import Ledger, Place

_F = "audit.evaluation."
_FEWEST_GENERATIONS = 5


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the evidence shows; what is missing or useless is stated as unknown, with the reason."""
    candidate, baseline = _results(checkpoint, "candidate"), _results(checkpoint, "baseline")
    if isinstance(candidate, Text):
        _unknown(ledger, candidate, *_OF_CANDIDATE)
    else:
        ledger.fact(_F + "tool", candidate.tool if candidate.tool in ("lm_eval", "mteb") else "other")
        _whole(checkpoint, candidate, ledger)
        _identity(checkpoint, candidate, baseline, ledger)
        _settings(checkpoint, candidate, baseline, ledger)
        _targets(checkpoint, candidate, baseline, ledger)
        _neighbours(checkpoint, candidate, baseline, ledger)
    for part in (_generations, _failure_set, _overlap):
        part(checkpoint, ledger)


_OF_CANDIDATE = (
    "tool", "partial_tasks", "other_model", "settings_differ", "interface_differs", "targets_missed",
    "neighbours_fell", "neighbours_without_score",
)  # fmt: skip


def _unknown(ledger: Ledger, why: Text, *facts: str) -> None:
    for fact in facts:
        ledger.unknown(fact if "." in fact else _F + fact, why.en, why.zh)


def _results(checkpoint: Checkpoint, side: str) -> Results | Text:
    """The results of a side, or why there are none."""
    from engine.audit.evaluation.results import read_results

    names, given = checkpoint.intent.evidence, checkpoint.evidence.get("evals" if side == "candidate" else side)
    try:
        bundle = declared(checkpoint, getattr(names, side), f"evidence.{side}", given)
        samples = getattr(names, f"{side}_samples")
        return read_results(bundle, declared(checkpoint, samples, f"evidence.{side}_samples") if samples else None)
    except NoEvidenceError as error:
        return error.text


def _tasks(checkpoint: Checkpoint) -> list[str]:
    """The tasks that the intent names; none means all."""
    intent = checkpoint.intent
    return [target.task for target in intent.targets] + [neighbour.task for neighbour in intent.neighbours]


def _whole(checkpoint: Checkpoint, candidate: Results, ledger: Ledger) -> None:
    from engine.audit.evaluation.settings import partial

    places, told = partial(candidate, _tasks(checkpoint))
    if told:
        ledger.count(_F + "partial_tasks", places)


def _identity(checkpoint: Checkpoint, candidate: Results, baseline: Results | Text, ledger: Ledger) -> None:
    from engine.audit.evaluation.identity import confirmed, mismatches

    files = list({id(one): one for one in candidate.by_task(_tasks(checkpoint)).values()}.values())
    places = mismatches(checkpoint, files, None if isinstance(baseline, Text) else baseline)
    if places or (files and confirmed(checkpoint, files)):
        ledger.count(_F + "other_model", places)
        return
    model = next((one.evaluation.model for one in files if one.evaluation.model), candidate.bundle.name)
    ledger.unknown(
        _F + "other_model",
        f"The results name the evaluated model only as {model[:120]!r}: record the SHA-256 of its weights as "
        "config.model_sha256 to prove that it is this one.",
        f"结果仅以 {model[:120]!r} 标明被评模型：请在 config.model_sha256 记录权重的 SHA-256，以证明就是此模型。",
    )


def _settings(checkpoint: Checkpoint, candidate: Results, baseline: Results | Text, ledger: Ledger) -> None:
    from engine.audit.evaluation.mteb import interface_differences
    from engine.audit.evaluation.settings import differences

    other = None if isinstance(baseline, Text) else baseline
    if candidate.tool == "mteb":
        _compared(ledger, "interface_differs", *interface_differences(checkpoint, candidate, other))
    elif isinstance(baseline, Text):
        _unknown(ledger, baseline, "settings_differ")
    else:
        _compared(ledger, "settings_differ", *differences(candidate, baseline, _tasks(checkpoint)))


def _compared(ledger: Ledger, fact: str, places: list[Place], compared: int) -> None:
    if compared:
        ledger.count(_F + fact, places)
    else:
        ledger.unknown(
            _F + fact,
            "The files record no setting that could be compared.",
            "这些文件没有记录任何可比较的设置。",
        )


def _targets(checkpoint: Checkpoint, candidate: Results, baseline: Results | Text, ledger: Ledger) -> None:
    from engine.audit.evaluation.comparison import judge_target

    targets = checkpoint.intent.targets
    if not targets:
        why = Text(en="The intent names no target.", zh="意图文件没有给出目标指标。")
        _unknown(ledger, why, "targets_missed", "release.target_gain")
        return
    ledger.fact(_F + "targets", float(len(targets)))
    _outcome(ledger, "targets_missed", [judge_target(target, candidate, baseline) for target in targets])
    first = targets[0]
    for fact, side in (("release.target_score", candidate), ("release.target_baseline", baseline)):
        found = None if isinstance(side, Text) else side.find(first.task, first.metric)
        if found is not None and math.isfinite(found.score.value):
            ledger.fact(fact, found.score.value)


def _neighbours(checkpoint: Checkpoint, candidate: Results, baseline: Results | Text, ledger: Ledger) -> None:
    from engine.audit.evaluation.comparison import judge_neighbours
    from engine.audit.evaluation.coverage import same_skill, without_score

    neighbours = checkpoint.intent.neighbours
    if not neighbours:
        why = Text(en="The intent names no neighbouring task.", zh="意图文件没有给出邻近任务。")
        _unknown(ledger, why, "neighbours_fell", "neighbours_without_score", "release.neighbour_worst_drop")
        return
    ledger.fact(_F + "neighbours", float(len(neighbours)))
    ledger.count(_F + "neighbours_without_score", without_score(neighbours, candidate, baseline))
    ledger.count(_F + "neighbours_of_one_skill", same_skill(checkpoint.intent))
    if isinstance(baseline, Text):
        _unknown(ledger, baseline, "neighbours_fell")
        return
    judged = judge_neighbours(neighbours, candidate, baseline)
    _outcome(ledger, "neighbours_fell", judged)
    drops = [one.drop for one in judged if one.drop is not None]
    if drops:
        ledger.fact("release.neighbour_worst_drop", max(0.0, *drops))


def _outcome(ledger: Ledger, fact: str, judged: Iterable[Judged]) -> None:
    """One failure decides; without any, one that is open leaves the fact unknown."""
    found = list(judged)
    failed = [one.place for one in found if one.outcome == "fails"]
    open_ = [one.why for one in found if one.outcome == "open" and one.why is not None]
    if failed or not open_:
        ledger.fact(_F + fact, float(len(failed)), failed or [one.place for one in found])
        return
    ledger.unknown(_F + fact, " ".join(text.en for text in open_)[:1000], "".join(text.zh for text in open_)[:1000])


def _guarded(ledger: Ledger, facts: tuple[str, ...], work: Callable[[], None]) -> None:
    try:
        work()
    except NoEvidenceError as error:
        _unknown(ledger, error.text, *facts)


def _generations(checkpoint: Checkpoint, ledger: Ledger) -> None:
    from engine.audit.evaluation.generations import read_generations

    chat = checkpoint.intent.chat

    def work() -> None:
        bundle = declared(checkpoint, checkpoint.intent.evidence.generations, "evidence.generations")
        stops = (*chat.stop_tokens, *filter(None, (chat.end_of_turn_token,))) if chat else ()
        found = read_generations(bundle, ledger.value("audit.is_chat") is True, stops)
        if found.rows < _FEWEST_GENERATIONS:
            raise NoEvidenceError(
                Text(
                    en=f"{bundle.name} holds {found.rows} outputs; fewer than {_FEWEST_GENERATIONS} show nothing.",
                    zh=f"{bundle.name} 仅有 {found.rows} 条输出；少于 {_FEWEST_GENERATIONS} 条说明不了问题。",
                )
            )
        ledger.fact("release.generation_samples", float(found.rows))
        ledger.fact(_F + "generations_read", float(found.rows))
        for fact, places in (
            ("release.generation_cut_share", found.cut),
            (_F + "generations_empty", found.empty),
            (_F + "generations_repeated", found.repeated),
            (_F + "generations_broken", found.broken),
            (_F + "generations_with_template", found.leaked),
        ):
            if places is not None:
                ledger.fact(fact, len(places) / found.rows, places)

    _guarded(ledger, ("release.generation_samples", "release.generation_cut_share"), work)


def _failure_set(checkpoint: Checkpoint, ledger: Ledger) -> None:
    from engine.audit.evaluation.failures import read_failure_set

    def work() -> None:
        found = read_failure_set(declared(checkpoint, checkpoint.intent.evidence.failure_set, "evidence.failure_set"))
        ledger.count("release.failure_set_new_failures", found.new_failures)
        ledger.fact("release.failure_set_pass_share", found.passing / found.cases)
        ledger.fact(_F + "blocking_new_failures", float(found.blocking))

    _guarded(ledger, ("release.failure_set_new_failures",), work)


def _overlap(checkpoint: Checkpoint, ledger: Ledger) -> None:
    from engine.audit.evaluation.overlap import overlapping

    def work() -> None:
        names = checkpoint.intent.evidence
        trained = declared(checkpoint, names.training_data, "evidence.training_data")
        evaluated = declared(checkpoint, names.eval_documents, "evidence.eval_documents")
        places, documents = overlapping(evaluated, trained)
        ledger.fact(_F + "overlapping_share", len(places) / documents, places)

    _guarded(ledger, (_F + "overlapping_share",), work)
