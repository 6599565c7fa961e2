"""An audit as workflow commands of GitHub Actions, which shows them beside the files of a change.

Format: "Workflow commands for GitHub Actions" in its documentation, escapes as in its toolkit. A step shows ten
errors and ten warnings, so the roots come first and consequences are named in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from api.reports.outline import outline
from api.reports.text import visible, word

if TYPE_CHECKING:
    from engine.model.audit import AuditedGate, AuditResult
    from engine.model.base import Lang

_COMMAND = {"blocker": "error", "major": "error", "minor": "warning", "info": "notice"}


def workflow_commands(result: AuditResult, lang: Lang, directory: str = "") -> str:
    """One command a line. ``directory``: the checkpoint folder relative to the repository."""
    prefix = f"{directory.rstrip('/')}/" if directory not in ("", ".") else ""
    paths = {file.path for file in result.files}

    def command(name: str, gate: AuditedGate, text: str) -> str:
        properties = {"title": f"{gate.id} ({word(gate.severity, lang)})"}
        if gate.places and gate.places[0].file in paths:
            properties = {"file": prefix + gate.places[0].file, **properties}
        written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        return f"::{name} {written}::{_data(text)}"

    lines = outline(result)
    found = []
    for failure in lines.failures:
        gate = failure.gate
        parts = [gate.title, gate.because]
        parts += [f"{word(key, lang)}: {getattr(gate, key)}" for key in ("where", "observed", "expected")]
        if failure.consequences:
            parts.append(f"{word('consequences', lang)}: {', '.join(other.id for other in failure.consequences)}")
        found.append(command(_COMMAND[gate.severity], gate, "\n".join((*parts, *gate.remedies))))
    found += [command("warning", gate, f"{gate.title}\n{gate.because}") for gate in lines.lacking]
    last = "notice" if result.verdict == "pass" else "error"
    return "\n".join((*found, f"::{last} title=traintriage audit::{_data(result.summary)}")) + "\n"


def _data(text: str) -> str:
    lines = (visible(line) for line in text.split("\n"))
    return "%0A".join(line.replace("%", "%25") for line in lines)


def _property(text: str) -> str:
    return visible(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
