"""JUnit XML: parsable whatever a checkpoint holds, and no gate without evidence counts as passed."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

import pytest

from api.reports.junit import junit
from engine.model.audit import AuditResult
from tests.api.reports.results import GATES, hostile, result


def cases(audit: AuditResult) -> dict[str, Xml.Element]:
    root = Xml.fromstring(junit(audit, "en"))
    return {case.attrib["name"]: case for case in root.iter("testcase")}


def test_each_status_has_its_outcome() -> None:
    outcomes = {name: [child.tag for child in case] for name, case in cases(result()).items()}
    assert outcomes == {
        "container/st-file-length": ["failure"],
        "names/tensors-present": ["failure"],
        "template/tmpl-renders": ["failure"],
        "evaluation/eval-target": ["error"],
        "evaluation/contamination": ["skipped"],
        "security/no-pickle": ["skipped"],
        "config/cfg-parses": [],
        "tied/embeddings": ["skipped"],
    }


def test_a_failure_has_its_severity_its_place_and_its_remedies() -> None:
    failure = cases(result())["container/st-file-length"][0]
    assert failure.attrib["type"] == "blocker"
    assert "model.safetensors bytes 0..8  observed 123  expected 456" in (failure.text or "")
    assert "Copy it again." in (failure.text or "")


def test_a_consequence_names_its_root() -> None:
    assert "follows from container/st-file-length" in cases(result())["names/tensors-present"][0].attrib["message"]


def test_counts_add_up() -> None:
    root = Xml.fromstring(junit(result(), "en"))
    expected = {"tests": len(GATES), "failures": 3, "errors": 1, "skipped": 3}
    assert {name: int(root.attrib[name]) for name in expected} == expected
    assert {name: sum(int(suite.attrib[name]) for suite in root) for name in expected} == expected


@pytest.mark.parametrize("audit", [hostile(), result((), "pass")], ids=["hostile", "empty"])
def test_it_is_xml(audit: AuditResult) -> None:
    text = junit(audit, "zh")
    Xml.fromstring(text)
    text.encode()
