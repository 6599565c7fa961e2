"""JSON Schemas of the knowledge files for editors: generated from the models and committed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from engine.knowledge.files import CAUSE_CASES, KINDS, REPORTS, Kind

if TYPE_CHECKING:
    from pathlib import Path

_ONE = {"causes": "cause", "gates": "gate", "pipelines": "pipeline", "policies": "policy"}


def schemas() -> dict[str, str]:
    """Every schema file by name, as text."""
    return {f"{_ONE.get(kind.name, kind.name)}.schema.json": _schema(kind) for kind in (*KINDS, CAUSE_CASES, REPORTS)}


def _schema(kind: Kind) -> str:
    model: Any = list[kind.model] if kind.many else kind.model  # type: ignore[name-defined]
    body = TypeAdapter(model).json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"kb/{kind.pattern}"}
    return (
        json.dumps(head | {key: value for key, value in body.items() if key != "title"}, indent=1, ensure_ascii=False)
        + "\n"
    )


def write_schemas(root: Path) -> list[Path]:
    """Write the stale schemas below ``root/schema`` and delete what is none; returns what was changed."""
    stale = stale_schemas(root)
    wanted = schemas()
    (root / "schema").mkdir(exist_ok=True)
    for path in stale:
        if path.name in wanted:
            path.write_text(wanted[path.name], encoding="utf-8")
        else:
            path.unlink()
    return stale


def stale_schemas(root: Path) -> list[Path]:
    """The schema files that are missing, differ from the models, or have no model any more."""
    folder, wanted = root / "schema", schemas()
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.schema.json")}
    return [folder / name for name in sorted(wanted | written) if wanted.get(name) != written.get(name)]
