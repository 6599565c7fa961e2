"""A new cause with its examples, ready to be filled in: it loads, passes the linter and its examples run."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from engine.knowledge.load import existing, load_knowledge
from engine.model.base import Text
from engine.model.kb import CauseId

if TYPE_CHECKING:
    from engine.knowledge.knowledge import Knowledge
    from engine.model.kb import Finding

SYMPTOMS = 3


class AuthorError(ValueError):
    """The new cause cannot be written as asked; the message says what to ask instead."""


@dataclass(frozen=True)
class _Choice:
    """What the new cause starts with: ids of its mechanism, of what the reporter sees, and of a check."""

    mechanism: str
    symptoms: tuple[str, ...]
    check: str


def new_cause(root: Path, id_: str, family: str, title: Text, with_mechanism: bool = False) -> list[Path]:
    """Write ``causes/<area>/<slug>.yaml`` and ``<slug>.cases.yaml`` as a draft, and return their paths.

    The findings are existing ones of the same area, those that fewest causes show. With ``with_mechanism`` a
    finding that proves the cause, and a check that settles it, are added to ``findings/<area>.yaml`` and
    ``checks/<area>.yaml``.

    Raises:
        AuthorError: if the id is taken or malformed, the family unknown, or no finding suits.
        KbError: if the knowledge base does not load.
    """
    knowledge = load_knowledge(existing(root), use_cache=False)
    _check_names(knowledge, id_, family)
    area, slug = id_.split("/")
    cause, cases = (root / "causes" / area / f"{slug}{end}" for end in (".yaml", ".cases.yaml"))
    changed = [cause, cases]
    if with_mechanism:
        choice = _Choice(f"{area}.{slug}", _symptoms(knowledge, area), slug)
        changed += _write_mechanism(root, knowledge, choice, area, title)
    else:
        choice = _existing_choice(knowledge, area)
    cause.parent.mkdir(parents=True, exist_ok=True)
    cause.write_text(_cause_text(id_, family, title, choice), encoding="utf-8")
    cases.write_text(_cases_text(choice, title), encoding="utf-8")
    return changed


def _check_names(knowledge: Knowledge, id_: str, family: str) -> None:
    try:
        TypeAdapter[str](CauseId).validate_python(id_)
    except ValidationError:
        raise AuthorError(f"'{id_}' is no id: write area/slug in small letters, digits and '-'") from None
    if id_ in knowledge.causes:
        raise AuthorError(f"there is a cause '{id_}' already; ids are never reused")
    if id_ in knowledge.retired:
        raise AuthorError(f"'{id_}' was retired in {knowledge.retired[id_].since}; ids are never reused")
    if family not in knowledge.families:
        raise AuthorError(f"there is no family '{family}': choose one of kb/families.yaml")


def _existing_choice(knowledge: Knowledge, area: str) -> _Choice:
    settled_by = {name: check.id for check in knowledge.checks.values() for name in check.settles}
    for finding in _by_rarity(knowledge, area):
        if finding.role == "mechanism" and finding.id in settled_by:
            return _Choice(finding.id, _symptoms(knowledge, area), settled_by[finding.id])
    raise AuthorError(f"no check settles a mechanism of '{area}': use with_mechanism")


def _symptoms(knowledge: Knowledge, area: str) -> tuple[str, ...]:
    seen = [finding.id for finding in _by_rarity(knowledge, area) if finding.role == "symptom" and finding.visible]
    if len(seen) < SYMPTOMS:
        raise AuthorError(f"there are {len(seen)} visible symptoms, a cause needs {SYMPTOMS}: add findings first")
    return tuple(seen[:SYMPTOMS])


def _by_rarity(knowledge: Knowledge, area: str) -> list[Finding]:
    """Findings that causes of the area show, then all others; within both, those shown least often first."""
    shown = Counter(link.finding for cause in knowledge.causes.values() for link in cause.shows)
    here = {
        link.finding for id_, cause in knowledge.causes.items() if id_.startswith(f"{area}/") for link in cause.shows
    }
    return sorted(knowledge.findings.values(), key=lambda one: (one.id not in here, shown[one.id], one.id))


def _quoted(text: str) -> str:
    """A text as a YAML double-quoted scalar, which JSON strings are."""
    return json.dumps(text, ensure_ascii=False)


def _pair(text: Text) -> str:
    return f"{{en: {_quoted(text.en)}, zh: {_quoted(text.zh)}}}"


def _cause_text(id_: str, family: str, title: Text, choice: _Choice) -> str:
    shows = "\n".join(
        f"  - {{finding: {_quoted(name)}, how: {how}}}"
        for name, how in ((choice.mechanism, "always"), *((name, "usually") for name in choice.symptoms))
    )
    return f"""id: {id_}
family: {family}
title: {_pair(title)}
status: draft
station: forward
paradigms: [any]
meaning: {{en: <what is wrong - one or two sentences for a tired reader>, zh: <哪里出了问题，一两句话>}}
impact: {{en: <what it costs>, zh: <造成什么损失>}}
prior: uncommon
presentation:
  en: [<what the engineer writes first>, <the same in other words>]
  zh: [<工程师最先写下的话>, <换一种说法>]
shows:
{shows}
checks: [{choice.check}]
remedies:
  - {{do: {{en: <what repairs it>, zh: <如何修复>}}, repairs: usually, minutes: 10, risk: low}}
blind_spots: {{en: <when this cause is missed>, zh: <什么情况下会漏判>}}
"""


def _cases_text(choice: _Choice, title: Text) -> str:
    every = (choice.mechanism, *choice.symptoms)
    first, *rest = choice.symptoms
    return f"""- name: every finding is there
  kind: fires
  case: {{facts: {_states(every, "true")}}}
  expect: {{rank: 1}}
- name: proven, with the first symptom
  kind: fires
  case: {{report: {_quoted(title.en)}, facts: {_states((choice.mechanism, first), "true")}}}
  expect: {{rank: 1}}
- name: the same symptoms, but the mechanism is absent
  kind: near_miss
  case: {{facts: {_states(rest, "true")[:-1]}, {_states((choice.mechanism,), "false")[1:]}}}
  expect: {{not_first: true}}
- name: nothing is wrong
  kind: healthy
  case: {{facts: {_states(every, "false")}}}
  expect: {{silent: true}}
"""


def _states(names: tuple[str, ...] | list[str], state: str) -> str:
    return "{" + ", ".join(f"{_quoted(name)}: {state}" for name in names) + "}"


def _write_mechanism(root: Path, knowledge: Knowledge, choice: _Choice, area: str, title: Text) -> list[Path]:
    if choice.mechanism in knowledge.findings or choice.check in knowledge.checks:
        raise AuthorError(f"the finding '{choice.mechanism}' or the check '{choice.check}' exists already")
    finding = f"""- id: {choice.mechanism}
  title: {_pair(title)}
  role: mechanism
  leak: very_rare
  visible: false
  ask: {{en: <the question whose yes proves it>, zh: <回答“是”即可证实的问题>}}
"""
    check = f"""- id: {choice.check}
  title: {_pair(title)}
  how: {{en: <what to do and what to look at>, zh: <怎么做，看什么>}}
  minutes: 10
  settles: [{choice.mechanism}]
"""
    paths = []
    for folder, entry in (("findings", finding), ("checks", check)):
        path = root / folder / f"{area}.yaml"
        path.parent.mkdir(exist_ok=True)
        before = path.read_text(encoding="utf-8").rstrip("\n") + "\n\n" if path.exists() else ""
        path.write_text(before + entry, encoding="utf-8")
        paths.append(path)
    return paths
