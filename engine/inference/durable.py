"""durable-rules, used in the one narrow way in which it is exact, fast and does not leak.

Literals joined by ``$and`` on one flat fact, at most 60 rules and 240 properties a ruleset, no background threads, one
resident session (sid) a ruleset, and for each case: assert, drain, retract. The loop calls the functions of the
extension that ``durable.engine.Ruleset`` calls itself, in the same order, without the closure that it builds for every
action: our rules conclude by firing and have no code to run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import durable_rules_engine as c_engine
import numpy as np

MAX_RULES = 60
MAX_PROPERTIES = 240
_HANDLED, _NOT_HANDLED = 0, 1
_PRIME = "prime"
_REQUIRED = ("create_ruleset", "assert_fact", "retract_fact", "start_action_for_state", "complete_and_start_action",
             "delete_state", "delete_ruleset")  # fmt: skip


class DurableError(RuntimeError):
    """durable-rules answered with an error; the ruleset must be rebuilt."""


def check_build() -> None:
    """Fail early, with a sentence, if another durable-rules than the one this loop is written for is installed."""
    missing = [name for name in _REQUIRED if not hasattr(c_engine, name)]
    if missing:
        raise DurableError(f"this durable-rules build lacks {', '.join(missing)}; install durable-rules 2.0.28")


class Shard:
    """One ruleset of conjunctions, each some literals in JSON. ``fired`` gives the names of the rules that hold."""

    def __init__(self, name: str, rules: Mapping[str, Sequence[str]]) -> None:
        if not 0 < len(rules) <= MAX_RULES:
            raise DurableError(f"a shard takes 1 to {MAX_RULES} rules, got {len(rules)}")
        self._name = name
        self._open = False
        conjunctions = {**rules, _PRIME: [f'{{"{_PRIME}":1}}']}
        members = (
            f'"{rule}":{{"all":[{{"m":{{"$and":[{",".join(literals)}]}}}}]}}' for rule, literals in conjunctions.items()
        )
        try:
            self._handle = c_engine.create_ruleset(name, f"{{{','.join(members)}}}")
        except Exception as error:
            raise DurableError(f"{name} cannot be built: {error}") from error
        self._open = True
        # One handled fact makes the resident session's state real; only then is delete_state safe at the end.
        if self._run(f'{{"id":"c","sid":"0","{_PRIME}":1}}') != [_PRIME]:
            raise DurableError("the engine did not answer its priming fact")

    def fired(self, members: Iterable[str]) -> list[str]:
        """Names of the rules whose literals all hold of a fact with these JSON members."""
        return self._run(f'{{"id":"c","sid":"0",{",".join(members)}}}')

    def _run(self, fact: str) -> list[str]:
        fired: list[str] = []
        handle = self._handle
        try:
            code, state = c_engine.assert_fact(handle, fact)[:2]
            if code == _NOT_HANDLED:
                return fired
            if code != _HANDLED:
                raise DurableError(f"assert_fact answered {code}")
            try:
                started = c_engine.start_action_for_state(handle, state)
                message = started[1] if started else None
                while message:
                    fired.append(message[2 : message.index('"', 2)])
                    message = c_engine.complete_and_start_action(handle, state)
            finally:
                c_engine.retract_fact(handle, fact)
        except DurableError:
            raise
        except Exception as error:  # the extension raises bare Exception with a number in its text
            raise DurableError(f"{self._name}: {error}") from error
        return fired

    def close(self) -> None:
        """Free the session and the ruleset; both are needed, or each reload leaks megabytes."""
        if self._open:
            self._open = False
            c_engine.delete_state(self._handle, "0")
            c_engine.delete_ruleset(self._handle)


class Shards:
    """Any number of conjunctions, packed into rulesets. Each is some literals as (property, JSON), and has a number.

    The most used property stands first in a conjunction, and those that begin alike stand together: they share tests,
    and a shard is sent few properties. Measured on 1,000 rules, this takes a third off the time.
    """

    def __init__(self, conjunctions: Sequence[Sequence[tuple[int, str]]], prefix: str) -> None:
        used = Counter(index for literals in conjunctions for index, _ in literals)
        ordered = [sorted((-used[index], index, text) for index, text in literals) for literals in conjunctions]
        self._width = max(used, default=0) + 1
        self._shards: list[Shard] = []
        places: list[int] = []
        starts: list[int] = []
        for batch in _packed(sorted(range(len(ordered)), key=lambda number: (ordered[number], number)), ordered):
            for number in batch:
                starts.append(len(places))
                places += [len(self._shards) * self._width + index for _, index, _ in ordered[number]]
            texts = {str(number): [text for _, _, text in ordered[number]] for number in batch}
            self._shards.append(Shard(f"{prefix}{len(self._shards)}", texts))
        # One entry a literal: its shard and property as one number, and its property.
        self._places = np.array(places, dtype=np.intp)
        self._properties = self._places % self._width
        self._starts = np.array(starts, dtype=np.intp)
        self._lengths = np.diff(np.append(self._starts, len(places)))

    def fired(self, members: Mapping[int, str]) -> list[int]:
        """Numbers of the conjunctions that hold, given the case's JSON members by property.

        A conjunction with a property that the case does not have cannot hold: its other properties need not be sent.
        """
        if not self._shards or not members:
            return []
        known = np.zeros(max(self._width, max(members) + 1), dtype=bool)
        known[list(members)] = True
        possible = np.repeat(np.logical_and.reduceat(known[self._properties], self._starts), self._lengths)
        sent = np.zeros((len(self._shards), self._width), dtype=bool)
        sent.ravel()[self._places[possible]] = True
        shards, indexes = np.nonzero(sent)
        wanted: dict[int, list[str]] = {}
        for shard, index in zip(shards.tolist(), indexes.tolist(), strict=True):
            wanted.setdefault(shard, []).append(members[index])
        return [int(name) for shard, texts in wanted.items() for name in self._shards[shard].fired(texts)]

    def close(self) -> None:
        """Free what durable-rules holds."""
        for shard in self._shards:
            shard.close()


def _packed(numbers: Sequence[int], ordered: Sequence[Sequence[tuple[int, int, str]]]) -> Iterator[list[int]]:
    """Batches of conjunctions, in order, within the limits of a ruleset."""
    batch: list[int] = []
    read: set[int] = set()
    for number in numbers:
        properties = {index for _, index, _ in ordered[number]}
        if len(properties) > MAX_PROPERTIES:
            raise DurableError(f"a rule reads at most {MAX_PROPERTIES} properties, got {len(properties)}")
        if batch and (len(batch) == MAX_RULES or len(read | properties) > MAX_PROPERTIES):
            yield batch
            batch, read = [], set()
        batch.append(number)
        read |= properties
    if batch:
        yield batch
