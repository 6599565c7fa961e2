"""Batch scripts: what Slurm is asked for, what is exported, and the command that is launched."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.evidence.readers.configs.flags import flags_of, launches

_SBATCH = re.compile(r"^#SBATCH\s+(.*)$")
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*)(?:[= ]\s*([^\s-][^\s]*))?")
_SHORT = {"-N": "nodes", "-n": "ntasks", "-c": "cpus-per-task", "-G": "gpus", "-t": "time", "-p": "partition"}
_ASSIGNED = re.compile(r"^\s*(?:export\s+|declare\s+|local\s+)?([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^\s;]*)")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)(?::-([^}]*))?\}?")
_ARRAY = re.compile(r"^\s*([A-Za-z_]\w*)=\(\s*$")
_DEEPEST, _LONGEST, _LONGEST_VARIABLE, _MOST_VARIABLES, _MOST_LINES = 4, 65_536, 8_192, 200, 10_000


def is_script(text: str) -> bool:
    """Whether a text is a shell script, by its first line or Slurm's directives."""
    first = text.split("\n", 1)[0]
    return ("#SBATCH" in text or re.match(r"#!.*\b(?:ba|z|k)?sh\b", first) is not None) and "\n" in text


def script_options(text: str) -> object:
    """Options of the directives and of the launch commands, variables filled in; nothing is run.

    The environment of NCCL and CUDA is given as ``environment``. ``world_size`` is the nodes of Slurm times the GPUs
    of each, if the command does not say it.
    """
    options: dict[str, object] = {}
    variables: dict[str, str] = {}
    for line in _logical(text):
        if (directive := _SBATCH.match(line)) is not None:
            options |= _directive(directive[1])
        elif line.lstrip().startswith("#"):
            continue
        elif (assigned := _ASSIGNED.match(line)) is not None and not launches(line):
            variables[assigned[1]] = _filled(assigned[2].strip("\"'"), variables)[:_LONGEST_VARIABLE]
        elif launches(filled := _filled(line, variables)):
            options |= flags_of(filled)
    nodes, gpus = _count(options.get("nodes")), _count(options.get("gpus_per_node"))
    if nodes and gpus:
        options.setdefault("world_size", nodes * gpus)
    environment = {name: value for name, value in variables.items() if name.startswith(("NCCL_", "CUDA_", "OMP_"))}
    return {**options, **({"environment": environment} if environment else {})}


def _logical(text: str) -> Iterator[str]:
    """Lines joined where a backslash or an array bracket continues them."""
    carry, array = "", ""
    for line in text.splitlines()[:_MOST_LINES]:
        if array:
            if line.strip() == ")":
                yield f'{array}="{carry}"'
                carry, array = "", ""
            elif len(carry) < _LONGEST:
                carry += f"{line.split(' #')[0].strip()} "
        elif (opened := _ARRAY.match(line)) is not None:
            array = opened[1]
        elif line.rstrip().endswith("\\") and len(carry) < _LONGEST:
            carry += line.rstrip()[:-1] + " "
        else:
            yield carry + line
            carry = ""
    if carry and not array:
        yield carry


def _directive(text: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in _OPTION.findall(text):
        key = _SHORT.get(name, name.lstrip("-")).replace("-", "_")
        if key == "gres" and (gpus := re.search(r"gpu(?::[\w.]+)?:(\d+)", value)):
            found["gpus_per_node"] = gpus[1]
        elif key in ("nodes", "gpus_per_node", "ntasks_per_node", "cpus_per_task", "gpus"):
            found[key] = value.split(":")[-1]
    return found


def _filled(text: str, variables: dict[str, str]) -> str:
    """The text with the variables that the script itself sets; unknown ones stay as they are."""
    for _ in range(_DEEPEST):
        filled = re.sub(r"\$\{([A-Za-z_]\w*)\[@\]\}", r"${\1}", text)
        filled = _VARIABLE.sub(
            lambda found: variables.get(found[1], found[2] or found[0]), filled, count=_MOST_VARIABLES
        )
        if filled == text or len(filled) > _LONGEST:
            break
        text = filled
    return text[:_LONGEST]


def _count(value: object) -> int | None:
    text = str(value)
    return int(text) if re.fullmatch(r"[1-9]\d{0,5}", text) else None
