"""Evidence of evaluations: is it of this model, taken alike and whole, and does it show what the release needs?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from engine.audit.evaluation.files import NoEvidenceError, declared
from engine.audit.probes.subject import is_chat
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
    if isinstance(candidate, NoEvidenceError):
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


def _unknown(ledger: Ledger, why: NoEvidenceError, *facts: str) -> None:
    for fact in facts:
        ledger.unknown(fact if "." in fact else _F + fact, why.text.en, why.text.zh, why.wanted)


def _results(checkpoint: Checkpoint, side: str) -> Results | NoEvidenceError:
    """The results of a side, or why there are none."""
    from engine.audit.evaluation.results import read_results

    names, given = checkpoint.intent.evidence, checkpoint.evidence.get("evals" if side == "candidate" else side)
    try:
        bundle = declared(checkpoint, getattr(names, side), f"evidence.{side}", given)
        samples = getattr(names, f"{side}_samples")
        return read_results(bundle, declared(checkpoint, samples, f"evidence.{side}_samples") if samples else None)
    except NoEvidenceError as error:
        return error


def _tasks(checkpoint: Checkpoint) -> list[str]:
    """The tasks that the intent names; none means all."""
    intent = checkpoint.intent
    return [target.task for target in intent.targets] + [neighbour.task for neighbour in intent.neighbours]


def _whole(checkpoint: Checkpoint, candidate: Results, ledger: Ledger) -> None:
    from engine.audit.evaluation.settings import partial

    places, told = partial(candidate, _tasks(checkpoint))
    if told:
        ledger.count(_F + "partial_tasks", places)
        return
    ledger.unknown(
        _F + "partial_tasks",
        "The results record neither a limit nor how many items were run.",
        "结果既未记录 limit，也未记录评测的样本数。",
        _add(
            "n-samples",
            [one.label for one in candidate.files],
            "original and effective counts by task, or config.limit",
            "各任务的 original 与 effective 数目，或 config.limit",
        ),
    )


def _identity(checkpoint: Checkpoint, candidate: Results, baseline: Results | NoEvidenceError, ledger: Ledger) -> None:
    from engine.audit.evaluation.identity import confirmed, mismatches

    files = list({id(one): one for one in candidate.by_task(_tasks(checkpoint)).values()}.values())
    places = mismatches(checkpoint, files, None if isinstance(baseline, NoEvidenceError) else baseline)
    if places or (files and confirmed(checkpoint, files)):
        ledger.count(_F + "other_model", places)
        return
    model = next((one.evaluation.model for one in files if one.evaluation.model), candidate.bundle.name)
    ledger.unknown(
        _F + "other_model",
        f"The results name the evaluated model only as {model[:120]!r}: record the SHA-256 of its weights as "
        "config.model_sha256 to prove that it is this one.",
        f"结果仅以 {model[:120]!r} 标明被评模型：请在 config.model_sha256 记录权重的 SHA-256，以证明就是此模型。",
        _add(
            "config.model_sha256",
            [one.label for one in files] or [candidate.bundle.name],
            "the SHA-256 of the weights",
            "权重的 SHA-256",
        ),
    )


def _settings(checkpoint: Checkpoint, candidate: Results, baseline: Results | NoEvidenceError, ledger: Ledger) -> None:
    from engine.audit.evaluation.mteb import interface_differences
    from engine.audit.evaluation.settings import differences

    other = None if isinstance(baseline, NoEvidenceError) else baseline
    files = [one.label for side in (candidate, other) if side is not None for one in side.files]
    if candidate.tool == "mteb":
        wanted = _add(
            "mteb_version", files, "with dataset_revision, as MTEB writes them", "连同 MTEB 写入的 dataset_revision"
        )
        _compared(ledger, "interface_differs", *interface_differences(checkpoint, candidate, other), wanted)
    elif isinstance(baseline, NoEvidenceError):
        _unknown(ledger, baseline, "settings_differ")
    else:
        wanted = _add(
            "lm_eval_version",
            files,
            "with n-shot, configs and config, as the harness writes them",
            "连同评测工具写入的 n-shot、configs 与 config",
        )
        _compared(ledger, "settings_differ", *differences(candidate, baseline, _tasks(checkpoint)), wanted)


def _add(key: str, files: Sequence[str], en: str, zh: str) -> Text:
    """Which key to write into which result files, and what it says."""
    named = ", ".join(files[:3]) + (", …" if len(files) > 3 else "")
    return Text(en=f"Add `{key}` to {named}: {en}."[:2000], zh=f"在 {named} 中加入 `{key}`：{zh}。"[:2000])


def _compared(ledger: Ledger, fact: str, places: list[Place], compared: int, wanted: Text) -> None:
    if compared:
        ledger.count(_F + fact, places)
    else:
        ledger.unknown(
            _F + fact,
            "The files record no setting that could be compared.",
            "这些文件没有记录任何可比较的设置。",
            wanted,
        )


def _targets(checkpoint: Checkpoint, candidate: Results, baseline: Results | NoEvidenceError, ledger: Ledger) -> None:
    from engine.audit.evaluation.comparison import judge_target

    targets = checkpoint.intent.targets
    if not targets:
        why = NoEvidenceError(
            Text(en="The intent names no target.", zh="意图文件没有给出目标指标。"),
            Text(
                en='Add `targets` to the intent, such as [{task: gsm8k, metric: "exact_match,strict-match", '
                "min_value: 0.45}].",
                zh='在意图文件中加入 `targets`，例如 [{task: gsm8k, metric: "exact_match,strict-match", '
                "min_value: 0.45}]。",
            ),
        )
        _unknown(ledger, why, "targets_missed", "release.target_gain")
        return
    ledger.fact(_F + "targets", float(len(targets)))
    _outcome(ledger, "targets_missed", [judge_target(target, candidate, baseline) for target in targets])
    first = targets[0]
    for fact, side in (("release.target_score", candidate), ("release.target_baseline", baseline)):
        found = None if isinstance(side, NoEvidenceError) else side.find(first.task, first.metric)
        if found is not None and math.isfinite(found.score.value):
            ledger.fact(fact, found.score.value)


def _neighbours(
    checkpoint: Checkpoint, candidate: Results, baseline: Results | NoEvidenceError, ledger: Ledger
) -> None:
    from engine.audit.evaluation.comparison import judge_neighbours
    from engine.audit.evaluation.coverage import same_skill, without_score

    neighbours = checkpoint.intent.neighbours
    if not neighbours:
        why = NoEvidenceError(
            Text(en="The intent names no neighbouring task.", zh="意图文件没有给出邻近任务。"),
            Text(
                en='Add `neighbours` to the intent, such as [{task: hellaswag, metric: "acc_norm,none", '
                "max_drop_in_stderr_of_difference: 2}].",
                zh='在意图文件中加入 `neighbours`，例如 [{task: hellaswag, metric: "acc_norm,none", '
                "max_drop_in_stderr_of_difference: 2}]。",
            ),
        )
        _unknown(ledger, why, "neighbours_fell", "neighbours_without_score", "release.neighbour_worst_drop")
        return
    ledger.fact(_F + "neighbours", float(len(neighbours)))
    ledger.count(_F + "neighbours_without_score", without_score(neighbours, candidate, baseline))
    ledger.count(_F + "neighbours_of_one_skill", same_skill(checkpoint.intent))
    if isinstance(baseline, NoEvidenceError):
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
    open_ = [one for one in found if one.outcome == "open" and one.why is not None]
    if failed or not open_:
        ledger.fact(_F + fact, float(len(failed)), failed or [one.place for one in found])
        return
    reasons = [one.why for one in open_ if one.why is not None]
    ledger.unknown(
        _F + fact,
        " ".join(text.en for text in reasons)[:1000],
        "".join(text.zh for text in reasons)[:1000],
        next((one.wanted for one in open_ if one.wanted is not None), None),
    )


def _guarded(ledger: Ledger, facts: tuple[str, ...], work: Callable[[], None]) -> None:
    try:
        work()
    except NoEvidenceError as error:
        _unknown(ledger, error, *facts)


def _generations(checkpoint: Checkpoint, ledger: Ledger) -> None:
    from engine.audit.evaluation.generations import read_generations

    chat = checkpoint.intent.chat

    def work() -> None:
        bundle = declared(checkpoint, checkpoint.intent.evidence.generations, "evidence.generations")
        stops = (*chat.stop_tokens, *filter(None, (chat.end_of_turn_token,))) if chat else ()
        found = read_generations(bundle, is_chat(checkpoint), stops)
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
