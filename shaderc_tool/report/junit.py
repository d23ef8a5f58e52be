"""The JUnit XML report: one test case for each subject, failed when the subject has an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from shaderc_tool.diagnostics import Diagnostic, has_errors
from shaderc_tool.report.common import explanation

SUITE = "shaderpack"

# XML 1.0, production 2: everything else cannot stand in a document, not even as a character reference.
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(diagnostics: Sequence[Diagnostic], subjects: Iterable[str] = ()) -> str:
    """A `testsuites` document. A subject without an error passes; warnings and notes go to `system-out`.

    A diagnostic about something that is not among the subjects gets a test case of its own: none is lost.
    No time stamp and no host name: the same findings give the same bytes.
    """
    cases = _by_subject(diagnostics, subjects)
    failures = sum(has_errors(found) for found in cases.values())
    totals = {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}
    root = ElementTree.Element("testsuites", {"name": SUITE, **totals})
    suite = ElementTree.SubElement(root, "testsuite", {"name": SUITE, **totals, "skipped": "0"})
    for subject, found in cases.items():
        _add_case(suite, subject, found)
    ElementTree.indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{ElementTree.tostring(root, encoding='unicode')}\n"


def _by_subject(diagnostics: Sequence[Diagnostic], subjects: Iterable[str]) -> dict[str, list[Diagnostic]]:
    cases: dict[str, list[Diagnostic]] = {subject: [] for subject in subjects}
    for diagnostic in diagnostics:
        place = diagnostic.place
        name = diagnostic.subject or (place.file if place else "") or SUITE
        cases.setdefault(name, []).append(diagnostic)
    return cases


def _add_case(suite: ElementTree.Element, subject: str, found: Sequence[Diagnostic]) -> None:
    case = ElementTree.SubElement(suite, "testcase", {"classname": SUITE, "name": _xml(subject)})
    errors = [d for d in found if has_errors([d])]
    others = [d for d in found if not has_errors([d])]
    if errors:
        attributes = {"type": errors[0].code, "message": _xml(errors[0].message)}
        failure = ElementTree.SubElement(case, "failure", attributes)
        failure.text = _texts(errors)
    if others:
        ElementTree.SubElement(case, "system-out").text = _texts(others)


def _texts(diagnostics: Iterable[Diagnostic]) -> str:
    return _xml("\n\n".join(_text(d) for d in diagnostics))


def _text(diagnostic: Diagnostic) -> str:
    head = f"{diagnostic.place}: " if diagnostic.place else ""
    lines = [f"{head}{diagnostic.severity.word}[{diagnostic.code}]: {explanation(diagnostic)}"]
    lines += [f"{r.place}: note: {r.message}" for r in diagnostic.related]
    if diagnostic.detail:
        lines.append(diagnostic.detail.rstrip("\n"))
    return "\n".join(lines)


def _xml(text: str) -> str:
    # A parser turns a carriage return into a newline anyway; done here, what is written is what is read.
    return _NOT_XML.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
