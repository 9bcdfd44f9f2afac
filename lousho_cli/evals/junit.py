"""Results as JUnit XML: a suite an eval, a case a case. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from lousho_cli.evals.eval_results import CaseResult, EvalRun

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(run: EvalRun) -> bytes:
    """The document. A gate that did not hold is a failure, a case that could not be run an error; a soft miss stands in its output."""
    root = ET.Element("testsuites", name="lousho eval", tests=str(len(run.cases)), time=f"{run.duration_s:.3f}")
    for name, cases in _by_eval(run.cases):
        suite = ET.SubElement(root, "testsuite", name=_xml(name), timestamp=run.at.rstrip("Z"))
        for case in cases:
            suite.append(_case(case))
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
        suite.set("errors", str(len(suite.findall("testcase/error"))))
        suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
        suite.set("time", f"{sum(case.duration_s for case in cases):.3f}")
    if not run.complete:
        properties = ET.SubElement(root, "properties")
        ET.SubElement(properties, "property", name="incomplete", value=f"{len(run.cases)} of {run.selected} cases")
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _by_eval(cases: Iterable[CaseResult]) -> Iterable[tuple[str, list[CaseResult]]]:
    suites: dict[tuple[str, str], list[CaseResult]] = {}
    for case in cases:
        suites.setdefault((case.file, case.eval), []).append(case)
    return [(name, found) for (_, name), found in suites.items()]


def _case(case: CaseResult) -> ET.Element:
    element = ET.Element("testcase", name=_xml(case.case), classname=_xml(case.eval), file=_xml(case.file), time=f"{case.duration_s:.3f}")
    gates = [one for one in case.misses if not one.soft]
    soft = [one for one in case.misses if one.soft]
    if case.result == "error":
        error = ET.SubElement(element, "error", message=_xml(case.error))
        error.text = _xml(case.hint)
    elif case.result == "failed":
        shown = gates or soft
        failure = ET.SubElement(element, "failure", message=_xml(shown[0].name if shown else "failed"))
        failure.text = _xml("\n".join(f"{one.name}: {one.detail}" for one in shown))
    elif case.result == "skipped":
        ET.SubElement(element, "skipped", message=_xml(case.hint))
    if soft:
        ET.SubElement(element, "system-out").text = _xml("\n".join(f"soft: {one.name}: {one.detail}" for one in soft))
    return element


def _xml(text: str) -> str:
    """A text with the characters that XML can not hold written as their escapes."""
    return _NOT_XML.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
