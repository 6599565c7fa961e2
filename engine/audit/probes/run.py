"""Evidence of the stages before release: one batch overfitted, a small run recorded, the layout scaled up."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from engine.audit.evaluation.files import MAX_DOCUMENT_BYTES, NoEvidenceError, declared
from engine.audit.folder import UnreadableError
from engine.audit.ledger import Place
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.intent import Stages
    from engine.audit.ledger import Ledger
    from engine.evidence.series import RunRecord, Series

COMPARED_STEPS = 20
# Spellings that people write into a log of their own, beside the canonical names of the readers.
_WAIT = re.compile(r"(?:data_?)?loader_(?:wait|time)(?:_s|_seconds)?|data_(?:wait|time)(?:_s|_seconds)?")
_WAIT_SHARE = re.compile(r"(?:(?:data_?)?loader|data)_(?:wait_)?(?:share|fraction|ratio)|batch_loading_share")
_TOKENS = re.compile(r"tokens_?per_?s(?:ec(?:ond)?)?")
_PEAK = re.compile(r"gpu_memory_used|(?:peak|max)_(?:gpu_)?mem(?:ory)?(?:_allocated|_reserved)?(?:_bytes)?")
_TRUNCATED = re.compile(r"(?:share_)?trunca(?:ted|tion)(?:_(?:share|fraction|ratio|rate))?(?:_pct)?")
_SAVE = re.compile(r"(?:checkpoint|ckpt|save)(?:_(?:save|write))?_(?:time|seconds|s)(?:_s)?")


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the logs under ``stages`` of the intent show; what they do not hold stays unknown."""
    stages = checkpoint.intent.stages
    if stages is None:
        return
    _guarded(ledger, ("release.single_batch_loss_fell",), lambda: _overfit(checkpoint, stages, ledger))
    _guarded(ledger, ("release.small_run_complete",), lambda: _small_run(checkpoint, stages, ledger))
    _guarded(ledger, ("release.scale_up_loss_difference",), lambda: _scale_up(checkpoint, stages, ledger))


def _guarded(ledger: Ledger, facts: tuple[str, ...], work: Callable[[], None]) -> None:
    try:
        work()
    except NoEvidenceError as error:
        for fact in facts:
            ledger.unknown(fact, error.text.en, error.text.zh, error.wanted)


def _record(checkpoint: Checkpoint, name: str | None, key: str) -> RunRecord:
    """The log as the readers give it; labels are paths as the intent writes them."""
    bundle = declared(checkpoint, name, f"stages.{key}")
    from engine.evidence.readers import read  # slow to load

    if bundle.single is None:
        raise NoEvidenceError(Text(en=f"{name!r} is a folder, not a log.", zh=f"{name!r} 是目录而不是日志。"))
    try:
        return read(bundle.read(bundle.single, 4 * MAX_DOCUMENT_BYTES), bundle.name)
    except UnreadableError as error:
        raise NoEvidenceError(Text(en=f"{error}.", zh=f"无法读取 {bundle.name}。")) from None


def _series(record: RunRecord, name: str | re.Pattern[str]) -> Series | None:
    """The longest series of that name."""
    matches = (lambda text: text == name) if isinstance(name, str) else (lambda text: bool(name.fullmatch(text)))
    return max((one for one in record.series if len(one) and matches(one.name.lower())), key=len, default=None)


def _losses(record: RunRecord) -> Series:
    loss = _series(record, "loss")
    if loss is None or len(loss) < 2:
        file = record.read.file
        raise NoEvidenceError(Text(en=f"{file} holds no series of the loss.", zh=f"{file} 中没有损失序列。"))
    return loss


def _overfit(checkpoint: Checkpoint, stages: Stages, ledger: Ledger) -> None:
    """First and last loss; the mean of the last three, so that no single step decides."""
    record = _record(checkpoint, stages.single_batch_overfit, "single_batch_overfit")
    loss = _losses(record)
    first, last = float(loss.values[0]), float(np.mean(loss.values[-3:] if len(loss) >= 6 else loss.values[-1:]))
    if not np.isfinite(first) or not np.isfinite(last):
        place = Place(record.read.file, f"step {loss.steps[-1]:g}", f"loss {last}", "a number", "training")
        ledger.fact("release.single_batch_loss_fell", False, [place])
        return
    ledger.fact("release.single_batch_done", True)
    ledger.fact("release.single_batch_first_loss", first)
    seen = f"loss {last:.4g}, {first:.4g} at the start"
    place = Place(record.read.file, f"step {loss.steps[-1]:g}", seen, f"at most {first / 10:.4g}", "training")
    ledger.fact("release.single_batch_last_loss", last, [place])


def _small_run(checkpoint: Checkpoint, stages: Stages, ledger: Ledger) -> None:
    """The numbers of the seed checklist: medians of speed and norm, share of waiting, peak of memory."""
    record = _record(checkpoint, stages.small_run, "small_run")
    file = record.read.file
    ledger.fact("release.small_run_done", True)
    tokens, step, norm = (_series(record, _TOKENS), _series(record, "step_time"), _series(record, "grad_norm"))
    for fact, series in (("tokens_per_s", tokens), ("step_time", step), ("grad_norm", norm)):
        value = _median(series)
        if value is not None and series is not None:
            ledger.fact(f"release.small_run_{fact}", value, [Place(file, series.name, f"{value:.4g}")])
    wait = _wait_share(record, _median(step))
    if wait is not None:
        ledger.fact("release.small_run_wait", wait, [Place(file, "waiting for data", f"{wait:.1%} of the step")])
    peak = _series(record, _PEAK)
    if peak is not None and np.isfinite(peak.values).any():
        most = float(np.nanmax(peak.values[np.isfinite(peak.values)]))
        ledger.fact("release.small_run_peak_bytes", most, [Place(file, peak.name, f"{most:.4g}")])
    missing = [
        n
        for n, v in (("tokens/s", tokens), ("step time", step), ("grad norm", norm), ("loader wait", wait))
        if v is None
    ]
    if missing:
        names = ", ".join(missing)
        ledger.unknown("release.small_run_complete", f"{file} does not record {names}.", f"{file} 未记录 {names}。")
    truncated = _series(record, _TRUNCATED)
    share = _median(truncated)
    if truncated is not None and share is not None:
        share = share / 100 if share > 1 or truncated.name.endswith("_pct") else max(0.0, share)
        ledger.fact("audit.run.truncated_share", share, [Place(file, truncated.name, f"{share:.2%}", "at most 1 %")])
    _save_cost(record, step, ledger)


def _median(series: Series | None) -> float | None:
    finite = series.values[np.isfinite(series.values)] if series is not None else np.empty(0)
    return float(np.median(finite)) if len(finite) else None


def _wait_share(record: RunRecord, step: float | None) -> float | None:
    """Share of the step spent waiting for data, from a share or from seconds beside the step time."""
    share = _median(_series(record, _WAIT_SHARE))
    if share is not None:
        return min(1.0, share / 100 if share > 1 else share)
    wait = _median(_series(record, "dataloader_time") or _series(record, _WAIT))
    return min(1.0, wait / step) if wait is not None and step else None


def _save_cost(record: RunRecord, step: Series | None, ledger: Ledger) -> None:
    """Share of the wall time that writing checkpoints takes, and what a resume did to the loss."""
    save = _series(record, _SAVE)
    if save is not None and step is not None:
        seconds = float(np.nansum(save.values))
        steps = float(np.nanmedian(step.values)) * max(1.0, float(np.ptp(step.steps)) + 1)
        share = seconds / max(seconds + steps, 1e-9)
        place = Place(record.read.file, save.name, f"{seconds:.3g} s of {seconds + steps:.3g} s")
        ledger.fact("audit.run.save_share", share, [place])
    gap = _resume_gap(record)
    if gap is not None:
        place = Place(record.read.file, "steps run twice", f"loss differs by {gap:.1%}", "the same loss", "training")
        ledger.fact("audit.run.resume_loss_difference", gap, [place])


def _resume_gap(record: RunRecord) -> float | None:
    """Relative difference of the loss at the steps that were run again after a resume; None if there are none."""
    loss = _series(record, "loss")
    if loss is None:
        return None
    falls = np.flatnonzero(np.diff(loss.steps) < 0) + 1
    if len(falls) != 1:
        return None
    before = dict(zip(loss.steps[: falls[0]].tolist(), loss.values[: falls[0]].tolist(), strict=True))
    after = zip(loss.steps[falls[0] :].tolist(), loss.values[falls[0] :].tolist(), strict=True)
    return _gap([(before[step], value) for step, value in after if step in before])


def _scale_up(checkpoint: Checkpoint, stages: Stages, ledger: Ledger) -> None:
    """Mean relative gap of the loss over the first common steps, of the log that differs most from the first."""
    if len(stages.scale_up) < 2:
        raise NoEvidenceError(
            Text(en="stages.scale_up needs two logs, before and after.", zh="stages.scale_up 需要扩展前后两份日志。")
        )
    first, *others = [_record(checkpoint, name, "scale_up") for name in stages.scale_up]
    reference = _losses(first)
    gaps: list[tuple[float, RunRecord]] = []
    for other in others:
        loss = _losses(other)
        known = dict(zip(loss.steps.tolist(), loss.values.tolist(), strict=True))
        both = zip(reference.steps.tolist(), reference.values.tolist(), strict=True)
        pairs = [(value, known[step]) for step, value in both if step in known][:COMPARED_STEPS]
        gap = _gap(pairs)
        if gap is None:
            raise NoEvidenceError(
                Text(
                    en=f"{first.read.file} and {other.read.file} have no step in common.",
                    zh=f"{first.read.file} 与 {other.read.file} 没有共同的步。",
                )
            )
        gaps.append((gap, other))
    gap, worst = max(gaps, key=lambda pair: pair[0])
    seen = f"loss differs by {gap:.2%} over the first steps"
    place = Place(worst.read.file, "loss", seen, f"that of {first.read.file} within 1 %", "training")
    ledger.fact("release.scale_up_loss_difference", gap, [place])


def _gap(pairs: list[tuple[float, float]]) -> float | None:
    """Mean of |a - b| / |a|; a value that is no number differs altogether."""
    if not pairs:
        return None
    gaps = [abs(a - b) / max(abs(a), 1e-12) for a, b in pairs]
    return float(np.mean([gap if np.isfinite(gap) else 1.0 for gap in gaps]))
