from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from engine.knowledge.schema import schemas, stale_schemas, write_schemas
from engine.knowledge.strict_yaml import load

if TYPE_CHECKING:
    from .conftest import SmallKb

FILES = {
    "facts": "facts/run.yaml",
    "findings": "findings/core.yaml",
    "cause": "causes/numerics/fp16-overflow.yaml",
    "cases": "causes/numerics/fp16-overflow.cases.yaml",
    "checks": "checks/core.yaml",
    "gate": "gates/weights/finite.yaml",
    "signatures": "signatures/core.yaml",
}


def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(schemas()[f"{name}.schema.json"])
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.mark.parametrize("name", FILES)
def test_the_golden_files_fulfil_their_schema(kb: SmallKb, name: str) -> None:
    data, _ = load(kb.root / FILES[name])
    jsonschema.validate(data, _schema(name))


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("cause", {"id": "a/b"}, "required"),
        ("findings", [{"id": "a.b", "title": {"en": "x", "zh": "字"}, "roll": "x"}], "roll"),
        ("checks", {"id": "a"}, "array"),
    ],
)
def test_a_wrong_file_does_not(name: str, data: object, says: str) -> None:
    with pytest.raises(jsonschema.ValidationError, match=says):
        jsonschema.validate(data, _schema(name))


def test_every_schema_is_written_once_and_then_fresh(kb: SmallKb) -> None:
    assert [path.name for path in write_schemas(kb.root)] == sorted(schemas())
    assert stale_schemas(kb.root) == []
    assert write_schemas(kb.root) == []


def test_a_stale_missing_or_superfluous_schema_is_named(kb: SmallKb) -> None:
    write_schemas(kb.root)
    folder = kb.root / "schema"
    (folder / "cause.schema.json").write_text("{}")
    (folder / "facts.schema.json").unlink()
    (folder / "old.schema.json").write_text("{}")
    named = [folder / f"{name}.schema.json" for name in ("cause", "facts", "old")]
    assert stale_schemas(kb.root) == named
    assert write_schemas(kb.root) == named
    assert stale_schemas(kb.root) == []
    assert not (folder / "old.schema.json").exists()
