"""The ranking of a case: its evidence is read once, its answers are added, and the engine concludes."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args

from pydantic_core import to_json

from api.submission import StoredFile, Submission
from engine import __version__
from engine.model.base import Lang
from engine.model.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from api.cases.events import FileRef
    from api.cases.state import CaseState
    from api.expert import Expert, Generation
    from api.store.cases import Ranking

    Fetch = Callable[[Sequence[FileRef], Path], Awaitable[list[StoredFile]]]

KEPT = 64  # cases whose evidence stays read; a few kB each


@dataclass(frozen=True)
class Ranked:
    """A diagnosis as JSON in each language, with what it was made by; ``digest`` is the SHA-256 of the texts."""

    kb_digest: str
    texts: dict[Lang, bytes]
    engine_version: str = __version__

    @classmethod
    def of(cls, kept: Ranking) -> Ranked:
        """A ranking as it was kept."""
        return cls(kept.kb_digest, {"en": kept.en, "zh": kept.zh}, kept.engine_version)

    @property
    def digest(self) -> str:
        return hashlib.sha256(b"\n".join(self.texts[lang] for lang in sorted(self.texts))).hexdigest()

    def data(self, lang: Lang) -> dict[str, Any]:
        """The diagnosis as plain data."""
        data: dict[str, Any] = json.loads(self.texts[lang])
        return data


class Ranker:
    """Ranks cases with the expert system in use. What was read of the evidence is kept for the next answer."""

    def __init__(self, expert: Expert) -> None:
        self._expert = expert
        self._kept: OrderedDict[str, Observed] = OrderedDict()

    async def rank(self, state: CaseState, fetch: Fetch) -> Ranked:
        """The diagnosis of a case as it stands.

        Args:
            fetch: writes files of the case into a folder, if they have to be read.

        Raises:
            Problem: if the evidence cannot be read, or does not fit.
        """
        with self._expert.lease() as generation:
            observed = await self._observed(generation, state, fetch)
            answers = self._expert.answers(generation, observed, get_args(Lang), passed=state.passed)
            texts = {lang: to_json(answer, inf_nan_mode="null") for lang, answer in answers.items()}
            return Ranked(generation.knowledge.digest, texts)

    async def explain(self, state: CaseState, fetch: Fetch, cause: str, lang: Lang) -> dict[str, Any]:
        """Why a cause leads, or does not.

        Raises:
            KeyError: if no diagnosed cause has that id.
        """
        with self._expert.lease() as generation:
            observed = await self._observed(generation, state, fetch)
            answer: dict[str, Any] = generation.diagnoser.explain(observed, cause, lang=lang).model_dump(mode="json")
            return answer

    async def _observed(self, generation: Generation, state: CaseState, fetch: Fetch) -> Observed:
        evidence = await self._evidence(generation, state, fetch)
        if not state.facts:
            return evidence
        return generation.diagnoser.informed(evidence, state.facts)

    async def _evidence(self, generation: Generation, state: CaseState, fetch: Fetch) -> Observed:
        text = json.dumps(dict(state.document), ensure_ascii=False).encode() if state.document else b""
        names = [(ref.name, ref.sha256) for ref in state.files]
        key = hashlib.sha256(repr((generation.knowledge.digest, names)).encode() + text).hexdigest()
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept
        observed = await self._read(generation, text, state.files, fetch)
        self._kept[key] = observed
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return observed

    async def _read(self, generation: Generation, text: bytes, refs: Sequence[FileRef], fetch: Fetch) -> Observed:
        if not refs:
            # A case all of whose evidence was retracted is no error: nothing is known of it.
            return await self._expert.collect(generation, Submission(text, "json")) if text else Observed()
        with TemporaryDirectory(prefix="traintriage-") as folder:
            files = await fetch(refs, Path(folder))
            return await self._expert.collect(generation, Submission(text, "json", tuple(files)))
