"""The options of a launch command: ``torchrun --nproc_per_node 8 train.py --lr 1e-4``."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Iterator, Mapping

_LAUNCH = re.compile(
    r"(?:^|[\s/;&|'\"(=])(?:torchrun|deepspeed|accelerate\s+launch|srun|mpirun|horovodrun|llamafactory-cli|axolotl|"
    r"composer|swift|python[\d.]*)\s+\S"
)
_SCRIPT = re.compile(r"\.(?:py|sh)$|^-m$|(?:^|/)(?:python[\d.]*|bash|sh|torchrun|accelerate|deepspeed|launch|train)$")
_FLAG = re.compile(r"(?:--|-(?=\w\w))([A-Za-z][\w.\-]*)(?:=(.*))?", re.DOTALL)
_PAIR = re.compile(r"\+{0,2}([A-Za-z_][\w.]*)=(.*)", re.DOTALL)
_MOST_CHARS, _MOST_WORDS = 65_536, 4_000
_NODES = ("nnodes", "num_nodes", "num_machines", "nodes")
_PER_NODE = ("nproc_per_node", "num_gpus", "gpus_per_node", "ntasks_per_node")


def launches(line: str) -> bool:
    """Whether the line starts a training program with options."""
    return "-" in line and _LAUNCH.search(line[:_MOST_CHARS]) is not None


def flags_of(line: str) -> Mapping[str, object]:
    """The options of a launch line by name, dashes as underscores; empty if the line launches nothing.

    A flag without a value is true, several values are a list, ``name=value`` behind the script is read as well
    (Hydra). ``world_size`` is added where the launcher says nodes and processes of each.
    """
    if not launches(line):
        return {}
    options = dict(_options(_words(line[:_MOST_CHARS])))
    return options | _world(options)


def _words(line: str) -> list[str]:
    line = re.sub(r"\\\s*$", "", line)
    try:
        words = shlex.split(line, comments=False)
    except ValueError:  # an apostrophe in a log line is no quotation
        words = line.split()
    return words[:_MOST_WORDS]


def _options(words: list[str]) -> Iterator[tuple[str, object]]:
    name, behind_script = "", False
    values: list[str] = []
    for word in words:
        flag = _FLAG.fullmatch(word)
        if flag or word in (";", "&&", "|", ">", "2>&1", "&"):
            if name:
                yield name, _value(values)
            name, values = "", []
            if flag and flag[2] is not None:
                yield _name(flag[1]), flag[2]
            elif flag:
                name = _name(flag[1])
        elif _SCRIPT.search(word):
            if name:
                yield name, _value(values)
            name, values, behind_script = "", [], True
        elif behind_script and (pair := _PAIR.fullmatch(word)):
            yield pair[1], pair[2]
        elif name:
            values.append(word)
    if name:
        yield name, _value(values)


def _name(flag: str) -> str:
    return flag.replace("-", "_")


def _value(values: list[str]) -> object:
    return True if not values else values[0] if len(values) == 1 else values


def _world(options: Mapping[str, object]) -> dict[str, object]:
    """Ranks of the launch: nodes times processes of each, or the hosts that DeepSpeed encodes in ``world_info``."""
    encoded = options.get("world_info")
    if isinstance(encoded, str):
        try:
            hosts = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
        except ValueError:
            hosts = None
        if isinstance(hosts, dict) and hosts and all(isinstance(slots, list) for slots in hosts.values()):
            return {"world_size": sum(map(len, hosts.values())), "nnodes": len(hosts)}
    per_node = next((count for name in _PER_NODE if (count := _count(options.get(name)))), None)
    nodes = next((count for name in _NODES if (count := _count(options.get(name)))), None)
    if per_node is None or "world_size" in options:
        return {}
    if nodes is None and any(name in options for name in _NODES):
        return {}  # elastic ("1:4") or a variable
    return {"world_size": per_node * (nodes or 1)}


def _count(value: object) -> int | None:
    text = str(value)
    return int(text) if re.fullmatch(r"[1-9]\d{0,5}", text) else None
