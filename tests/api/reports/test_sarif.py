"""SARIF 2.1.0: the constraints of the standard that concern what is written here, and what a scanner's reader needs."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from api.reports.sarif import sarif
from engine.model.audit import AuditResult
from tests.api.reports.results import GATES, hostile, result


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """An object with these properties only, as the standard has all of its own."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def listed(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


TEXT, COUNT, BAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "object"}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = closed({"text": TEXT}, "text")
LOCATION = closed(
    {
        "id": COUNT,
        "message": MESSAGE,
        "physicalLocation": closed(
            {"artifactLocation": closed({"uri": {"type": "string", "format": "uri-reference"}})}
        ),
        "logicalLocations": listed(closed({"fullyQualifiedName": TEXT, "kind": TEXT})),
    }
)
RULE = closed(
    {
        "id": TEXT,
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
        "help": MESSAGE,
        "defaultConfiguration": closed({"level": LEVEL}),
        "properties": BAG,
    },
    "id",
)
RESULT = closed(
    {
        "ruleId": TEXT,
        "ruleIndex": COUNT,
        "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": listed(LOCATION),
        "relatedLocations": listed(LOCATION),
        "partialFingerprints": {"type": "object", "additionalProperties": TEXT},
        "suppressions": listed(
            closed(
                {
                    "kind": {"enum": ["inSource", "external"]},
                    "status": {"enum": ["accepted", "underReview", "rejected"]},
                    "justification": TEXT,
                },
                "kind",
            )
        ),
        "properties": BAG,
    },
    "message",
)
RUN = closed(
    {
        "tool": closed({"driver": closed({"name": TEXT, "semanticVersion": TEXT, "rules": listed(RULE)}, "name")}),
        "language": {"type": "string", "pattern": "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$"},
        "invocations": listed(
            closed(
                {
                    "executionSuccessful": {"type": "boolean"},
                    "exitCode": {"type": "integer"},
                    "exitCodeDescription": TEXT,
                },
                "executionSuccessful",
            )
        ),
        "results": listed(RESULT),
        "properties": BAG,
    },
    "tool",
)
LOG = closed(
    {"$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"}, "runs": listed(RUN)}, "runs"
)


def run_of(audit: AuditResult, directory: str = "") -> dict[str, Any]:
    document = json.loads(sarif(audit, "en", 1, directory))
    jsonschema.Draft202012Validator(LOG, format_checker=jsonschema.FormatChecker()).validate(document)
    (run,) = document["runs"]
    return dict(run)


@pytest.mark.parametrize("audit", [result(), result((), "pass"), hostile()], ids=["fail", "empty", "hostile"])
def test_it_keeps_to_the_standard(audit: AuditResult) -> None:
    run = run_of(audit)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    for found in run["results"]:
        assert rules[found["ruleIndex"]] == found["ruleId"]
        assert found["locations"]
        # 3.27.10: a result that is no failure has no level.
        assert (found["level"] == "none") == (found["kind"] != "fail")


def test_one_result_a_root_and_its_consequences_inside() -> None:
    results = run_of(result())["results"]
    assert [(r["ruleId"], r["kind"], r["level"]) for r in results] == [
        ("container/st-file-length", "fail", "error"),
        ("template/tmpl-renders", "fail", "warning"),
        ("evaluation/eval-target", "open", "none"),
        ("security/no-pickle", "fail", "error"),
    ]
    (related,) = results[0]["relatedLocations"]
    assert "names/tensors-present" in related["message"]["text"]


def test_a_waiver_is_a_suppression() -> None:
    *others, waived = run_of(result())["results"]
    assert waived["suppressions"][0]["justification"].startswith("Ada, 2027-01-31")
    assert not any("suppressions" in other for other in others)


def test_every_gate_is_a_rule() -> None:
    rules = run_of(result())["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [gate.id for gate in GATES]
    assert rules[2]["help"]["text"] == "Copy it again. Then audit again."


def test_paths_start_where_the_pipeline_runs() -> None:
    def uris(directory: str) -> list[str]:
        return [
            r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for r in run_of(result(), directory)["results"]
        ]

    assert uris("out/model 1") == [
        "out/model%201/model.safetensors",
        "out/model%201/",
        "out/model%201/",
        "out/model%201/old.bin",
    ]
    assert uris("")[:2] == ["model.safetensors", "."]


def test_the_fingerprint_does_not_change_with_the_numbers() -> None:
    def prints(audit: AuditResult) -> list[str]:
        return [r["partialFingerprints"]["primaryLocationLineHash"] for r in run_of(audit)["results"]]

    place = GATES[2].places[0].model_copy(update={"observed": "124"})
    changed = tuple(gate.model_copy(update={"places": [place]}) if gate is GATES[2] else gate for gate in GATES)
    assert prints(result(changed)) == prints(result())
    assert len(set(prints(result()))) == 4
