"""The examples beside the causes, run: does each come out as its author says?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.diagnose import Diagnoser
from engine.evidence.case_file import CaseError, case_from
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import OwnedCase
from engine.model.diagnosis import Diagnosis
from engine.model.kb import CaseExpectation


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One example's outcome; ``failures`` says what differs from its expectation, in words."""

    owned: OwnedCase
    failures: tuple[str, ...]
    diagnosis: Diagnosis | None

    @property
    def name(self) -> str:
        return name_of(self.owned)


def name_of(owned: OwnedCase) -> str:
    """What an example is called: its cause, and its own name."""
    return f"{owned.cause_id or 'healthy'}::{owned.case.name}"


def with_drafts(knowledge: Knowledge) -> Knowledge:
    """The knowledge with its drafts on trial, so that an author sees where a new cause ranks before others do."""
    causes = {
        id_: cause.model_copy(update={"status": "trial"}) if cause.status == "draft" else cause
        for id_, cause in knowledge.causes.items()
    }
    return knowledge.model_copy(update={"causes": causes})


def run_cases(diagnoser: Diagnoser, cases: Iterable[OwnedCase]) -> Iterator[CaseResult]:
    """Diagnose every example and hold it against what it expects."""
    for owned in cases:
        try:
            case = case_from(owned.case.case)
        except CaseError as error:
            yield CaseResult(owned, (str(error),), None)
            continue
        observed = diagnoser.collect(case)
        states = {known.finding: known.present for known in diagnoser.known(observed)}
        own = owned.cause_id if owned.case.kind == "fires" else None
        diagnosis = diagnoser.conclude(observed, own=own)
        yield CaseResult(owned, tuple(_failures(owned, diagnosis, states)), diagnosis)


def _failures(owned: OwnedCase, diagnosis: Diagnosis, states: dict[str, bool]) -> Iterator[str]:
    expect = owned.case.expect
    ids = [cause.id for cause in diagnosis.causes]
    yield from _ranking_failures(owned.cause_id, expect, ids, diagnosis)
    for finding in expect.present:
        if states.get(finding) is not True:
            yield f"{finding} should be present, is {_word(states.get(finding))}"
    for finding in expect.absent:
        if states.get(finding) is not False:
            yield f"{finding} should be absent, is {_word(states.get(finding))}"


def _ranking_failures(
    cause: str | None, expect: CaseExpectation, ids: list[str], diagnosis: Diagnosis
) -> Iterator[str]:
    top = f"{ids[0]} ({diagnosis.causes[0].probability:.2f})" if ids else "nothing"
    if expect.rank is not None and (cause not in ids or ids.index(cause) + 1 > expect.rank):
        place = f"rank {ids.index(cause) + 1}" if cause in ids else "not listed"
        yield f"should rank at most {expect.rank}, is {place}; first is {top}"
    if expect.not_first and ids[:1] == [cause] and diagnosis.causes[0].probability >= diagnosis.unknown.probability:
        yield f"should not be first, is ({diagnosis.causes[0].probability:.2f})"
    if expect.first is not None and ids[:1] != [expect.first]:
        yield f"first should be {expect.first}, is {top}"
    if expect.silent and not _silent(diagnosis):
        yield f"should be silent, but finds {', '.join(finding.id for finding in diagnosis.findings)}"
    if expect.unknown and diagnosis.causes and diagnosis.causes[0].probability > diagnosis.unknown.probability:
        yield f"should end in unknown, but {top} leads"


def _silent(diagnosis: Diagnosis) -> bool:
    """No finding at all, or the leading cause says that this is expected behaviour."""
    return not diagnosis.findings or bool(diagnosis.causes and diagnosis.causes[0].expected)


def _word(state: bool | None) -> str:
    return {True: "present", False: "absent", None: "unknown"}[state]
