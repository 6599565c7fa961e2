"""An audit as JUnit XML, the form in which build servers read tests: one suite a group of gates, one case a gate.

A required gate without evidence is an error, so that no build server counts it as passed; one that the policy does not
require is skipped, and so is a waived failure.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from api.reports.text import visible, word

if TYPE_CHECKING:
    from engine.model.audit import AuditedGate, AuditResult
    from engine.model.base import Lang


def junit(result: AuditResult, lang: Lang) -> str:
    """The audit as an XML document."""
    root = Xml.Element("testsuites", name="traintriage audit")
    gates = sorted(result.gates, key=lambda gate: gate.id)
    for group, members in groupby(gates, key=lambda gate: gate.id.partition("/")[0]):
        suite = Xml.SubElement(root, "testsuite", name=group)
        for gate in members:
            case = Xml.SubElement(suite, "testcase", classname=f"audit.{group}", name=gate.id)
            _add_outcome(case, gate, lang)
        _count(suite)
    _count(root)
    Xml.indent(root, " ")
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_outcome(case: Xml.Element, gate: AuditedGate, lang: Lang) -> None:
    title = visible(gate.title)
    if gate.status == "fail":
        told = f"{title} ({word('follows', lang, gate=gate.follows_from)})" if gate.follows_from else title
        Xml.SubElement(case, "failure", message=told, type=gate.severity).text = _details(gate, lang)
    elif gate.status == "not_enough_evidence" and gate.required:
        Xml.SubElement(case, "error", message=title, type=gate.status).text = visible(gate.because)
    elif gate.status != "pass":
        why = gate.waived_by if gate.status == "waived" else gate.because
        Xml.SubElement(case, "skipped", message=f"{word(gate.status, lang)}: {visible(why or '')}")


def _details(gate: AuditedGate, lang: Lang) -> str:
    lines = [gate.because]
    lines += [
        f"{place.file} {place.at}  {word('observed', lang)} {place.observed}  {word('expected', lang)} {place.expected}"
        for place in gate.places
    ]
    return "\n".join(visible(line) for line in (*lines, *gate.remedies))


def _count(element: Xml.Element) -> None:
    """Set the attributes that build servers add up."""
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(1 for _ in element.iter(tag))))
