"""durable-rules, used in the one narrow way in which it is exact, fast and does not leak.

Literals joined by ``$and`` on one flat fact, at most 60 rules and 240 properties a ruleset, no background threads, one
resident session (sid) a ruleset, and for each case: assert, drain, retract. The loop calls the functions of the
extension that ``durable.engine.Ruleset`` calls itself, in the same order, without the closure that it builds for every
action: our rules conclude by firing and have no code to run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import durable_rules_engine as c_engine

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
    """One ruleset of conjunctions. ``fired(members)`` gives the names of the rules that hold."""

    def __init__(self, name: str, rules: Mapping[str, Sequence[str]], properties: Sequence[int]) -> None:
        if not 0 < len(rules) <= MAX_RULES or len(properties) > MAX_PROPERTIES:
            raise DurableError(
                f"a shard takes 1 to {MAX_RULES} rules and at most {MAX_PROPERTIES} properties, "
                f"got {len(rules)} and {len(properties)}"
            )
        self.properties = tuple(properties)
        self._open = False
        conjunctions = {**rules, _PRIME: [f'{{"{_PRIME}":1}}']}
        members = (
            f'"{rule}":{{"all":[{{"m":{{"$and":[{",".join(literals)}]}}}}]}}' for rule, literals in conjunctions.items()
        )
        self._handle = _call(c_engine.create_ruleset, name, f"{{{','.join(members)}}}")
        self._open = True
        # One handled fact makes the resident session's state real; only then is delete_state safe at the end.
        if self._run(f'{{"id":"c","sid":"0","{_PRIME}":1}}') != [_PRIME]:
            raise DurableError("the engine did not answer its priming fact")

    def fired(self, members: Mapping[int, str]) -> list[str]:
        """Names of the rules whose literals all hold, given the case's JSON members by property."""
        known = [members[index] for index in self.properties if index in members]
        if not known:
            return []
        return self._run(f'{{"id":"c","sid":"0",{",".join(known)}}}')

    def _run(self, fact: str) -> list[str]:
        code, state = _call(c_engine.assert_fact, self._handle, fact)[:2]
        if code == _NOT_HANDLED:
            return []
        if code != _HANDLED:
            raise DurableError(f"assert_fact answered {code}")
        fired: list[str] = []
        try:
            started = _call(c_engine.start_action_for_state, self._handle, state)
            message = started[1] if started else None
            while message:
                fired.append(message[2 : message.index('"', 2)])
                message = _call(c_engine.complete_and_start_action, self._handle, state)
        finally:
            _call(c_engine.retract_fact, self._handle, fact)
        return fired

    def close(self) -> None:
        """Free the session and the ruleset; both are needed, or each reload leaks megabytes."""
        if self._open:
            self._open = False
            c_engine.delete_state(self._handle, "0")
            c_engine.delete_ruleset(self._handle)


def _call(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:  # the extension raises bare Exception with a number in its text
        raise DurableError(f"{function.__name__}: {error}") from error


def sharded(rules: Mapping[str, Sequence[tuple[int, str]]], prefix: str) -> list[Shard]:
    """Pack rules, each some literals as (property, JSON), into shards.

    The most used property stands first in a rule, and rules that begin alike stand together: they share tests, and a
    shard is sent few properties. Measured on 1,000 rules, this takes a third off the time.
    """
    used = Counter(index for literals in rules.values() for index, _ in literals)
    ordered = {
        name: sorted((-used[index], index, text) for index, text in literals) for name, literals in rules.items()
    }
    shards: list[Shard] = []
    batch: dict[str, Sequence[str]] = {}
    read: set[int] = set()
    for name, literals in sorted(ordered.items(), key=lambda rule: (rule[1], rule[0])):
        properties = {index for _, index, _ in literals}
        if batch and (len(batch) == MAX_RULES or len(read | properties) > MAX_PROPERTIES):
            shards.append(Shard(f"{prefix}{len(shards)}", batch, sorted(read)))
            batch, read = {}, set()
        batch[name] = [text for _, _, text in literals]
        read |= properties
    if batch:
        shards.append(Shard(f"{prefix}{len(shards)}", batch, sorted(read)))
    return shards
