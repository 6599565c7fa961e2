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
_BEGINS = 0.5  # of that, for a word that is only the beginning of one
_TOGETHER = 2.0  # times as much where all words stand next to each other
_FITS = 0.6  # of the best score
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
        score = sum(weight * max(self.words.get(form, 0.0) for form in forms) for forms, weight in asked.words)
        return score * (_TOGETHER if asked.text in self.text else 1.0)


@dataclass(frozen=True)
class _Asked:
    """What is looked for: the forms that each word may have, and how much they tell."""

    words: tuple[tuple[tuple[str, ...], float], ...]
    text: str


class Vocabulary:
    """Facts, findings, causes and checks of one knowledge base."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        stated = [f for f in knowledge.facts.values() if not f.id.startswith(_READ_FROM_FILES) and f.derive is None]
        self._entries = [
            *(_entry("fact", fact.id, fact.title, fact.aliases) for fact in stated),
            *(_entry("finding", finding.id, finding.title) for finding in knowledge.findings.values()),
            *(_entry("cause", cause.id, cause.title) for cause in knowledge.active_causes.values()),
            *(_entry("check", check.id, check.title) for check in knowledge.checks.values()),
        ]
        self._known = Counter(word for entry in self._entries for word in entry.words)

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
        enough = _NEAR * _IN_ID * sum(weight for _, weight in asked.words)
        scored = [(entry.score(asked), entry.id) for entry in self._entries if entry.kind in kinds]
        return [id_ for score, id_ in sorted(scored, key=lambda item: -item[0])[:3] if score >= enough > 0]

    def _asked(self, query: str) -> _Asked:
        words = _WORD.findall(query.lower())
        forms = tuple(self._forms(word) for word in dict.fromkeys(words))
        return _Asked(tuple(item for item in forms if item[0]), f" {' '.join(words)} " if words else "\0")

    def _forms(self, word: str) -> tuple[tuple[str, ...], float]:
        """The rarer, the more a word tells. One that nothing has stands for those that begin with it."""
        if word in self._known:
            return (word,), self._rarity(word)
        forms = tuple(other for other in self._known if len(word) > 2 and other.startswith(word))
        return forms, _BEGINS * max(map(self._rarity, forms), default=0.0)

    def _rarity(self, word: str) -> float:
        return math.log(len(self._entries) / self._known[word])

    def _shown(self, entry: _Entry, lang: Lang) -> FactEntry:
        if entry.kind == "fact":
            return _fact(self._knowledge.facts[entry.id], lang)
        title = cut(entry.title.get(lang), SHORT)
        return FactEntry(id=entry.id, kind=entry.kind, title=title, type="bool" if entry.kind == "finding" else "")


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
