"""The ids of the knowledge base, found by what a model would call them, and near ones for ids that there are not."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from api.mcp.results import SHORT, FactEntry, Kind, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang, Text
    from engine.model.kb import Fact

_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
_READ_FROM_FILES = "audit."  # facts that only an audit of the files can know
_IN_ID, _IN_ALIAS, _IN_TITLE = 4.0, 3.0, 2.0
_ALIKE = 0.5  # of that, for a word of the same meaning, or one that the word asked for is the beginning of
_TOGETHER = 2.0  # times as much where all words stand next to each other
_FITS = 0.4  # of the best score
_NEAR = 0.5  # of what all words in an id would score


@dataclass(frozen=True)
class _Entry:
    kind: Kind
    id: str
    title: Text
    words: Mapping[str, float]
    text: str

    def score(self, asked: _Asked) -> float:
        """Each word asked for counts once, by its best form."""
        score = sum(
            max((weight * self.words[form] for form, weight in forms.items() if form in self.words), default=0.0)
            for forms in asked.words
        )
        return score * (_TOGETHER if asked.text in self.text else 1.0)


@dataclass(frozen=True)
class _Asked:
    """What is looked for: of each word the forms it may have, and how much each tells."""

    words: tuple[Mapping[str, float], ...]
    text: str


class Vocabulary:
    """Facts, findings, causes and checks of one knowledge base."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        stated = [f for f in knowledge.facts.values() if not f.id.startswith(_READ_FROM_FILES) and f.derive is None]
        self._entries = [
            *(_entry("fact", fact.id, fact.title, (*fact.aliases, *(fact.values or ()))) for fact in stated),
            *(_entry("finding", finding.id, finding.title) for finding in knowledge.findings.values()),
            *(_entry("cause", cause.id, cause.title) for cause in knowledge.active_causes.values()),
            *(_entry("check", check.id, check.title) for check in knowledge.checks.values()),
        ]
        self._known = Counter(word for entry in self._entries for word in entry.words)
        self._meanings = [pattern for concept in knowledge.lexicon.values() if (pattern := _meaning(concept.en))]

    def search(self, query: str, kind: Kind | None, lang: Lang) -> list[FactEntry]:
        """What has any of the words asked for, best first, facts before findings; of another kind only if asked."""
        asked = self._asked(query)
        kinds = ("fact", "finding") if kind is None else (kind,)
        scored = [(entry.score(asked), entry) for entry in self._entries if entry.kind in kinds]
        found = [item for item in scored if item[0] > 0]
        found.sort(key=lambda item: (-item[0], kinds.index(item[1].kind), len(item[1].words)))
        return [self._shown(entry, lang) for score, entry in found if score >= _FITS * found[0][0]]

    def near(self, name: str, *kinds: Kind) -> list[str]:
        """Ids that look like ``name``, else ids whose words are in it."""
        ids = [entry.id for entry in self._entries if entry.kind in kinds]
        close = difflib.get_close_matches(name[:100], ids, n=3, cutoff=0.7)
        if close:
            return close
        asked = self._asked(name[:100])
        enough = _NEAR * _IN_ID * sum(max(forms.values()) for forms in asked.words)
        scored = [(entry.score(asked), entry.id) for entry in self._entries if entry.kind in kinds]
        return [id_ for score, id_ in sorted(scored, key=lambda item: -item[0])[:3] if score >= enough > 0]

    def _asked(self, query: str) -> _Asked:
        words = _WORD.findall(query.lower())
        forms = (self._forms(word) for word in dict.fromkeys(words))
        return _Asked(tuple(filter(None, forms)), f" {' '.join(words)} " if words else "\0")

    def _forms(self, word: str) -> dict[str, float]:
        """The word, and those that mean the same; else those that begin with it. The rarer, the more it tells."""
        meanings = [pattern for pattern in self._meanings if pattern.fullmatch(word)]
        alike = [other for other in self._known if any(pattern.fullmatch(other) for pattern in meanings)]
        if word not in self._known and not alike and len(word) > 2:
            alike = [other for other in self._known if other.startswith(word)]
        forms = {other: _ALIKE * self._rarity(other) for other in alike}
        return {**forms, word: self._rarity(word)} if word in self._known else forms

    def _rarity(self, word: str) -> float:
        return math.log(len(self._entries) / self._known[word])

    def _shown(self, entry: _Entry, lang: Lang) -> FactEntry:
        if entry.kind == "fact":
            return _fact(self._knowledge.facts[entry.id], lang)
        title = cut(entry.title.get(lang), SHORT)
        return FactEntry(id=entry.id, kind=entry.kind, title=title, type="bool" if entry.kind == "finding" else "")


def _meaning(forms: Iterable[str]) -> re.Pattern[str] | None:
    """Matches the single words of a concept; a trailing ``*`` in the lexicon lets any ending follow."""
    single = [form for form in forms if _WORD.fullmatch(form.rstrip("*"))]
    return re.compile("|".join(form.replace("*", r"\w*") for form in single)) if single else None


def _entry(kind: Kind, id_: str, title: Text, aliases: Iterable[str] = ()) -> _Entry:
    named = [_WORD.findall(name.lower()) for name in (title.en, title.zh, *aliases, id_)]
    words = dict.fromkeys((*named[0], *named[1]), _IN_TITLE)
    words |= dict.fromkeys((word for name in named[2:-1] for word in name), _IN_ALIAS)
    words |= dict.fromkeys(named[-1], _IN_ID)
    return _Entry(kind, id_, title, words, "|".join(f" {' '.join(name)} " for name in named))


def _fact(fact: Fact, lang: Lang) -> FactEntry:
    return FactEntry(
        id=fact.id,
        kind="fact",
        title=cut(fact.title.get(lang), SHORT),
        type=fact.type,
        unit=fact.unit or "",
        values=list(fact.values or ()),
        at_least=fact.at_least,
        at_most=fact.at_most,
    )
