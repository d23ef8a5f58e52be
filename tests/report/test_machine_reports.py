"""JSON, SARIF, JUnit and GitHub: whole expected texts, and what a reader gets back."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.codes import CODES
from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity
from shaderc_tool.report import FORMATS, Context, render
from shaderc_tool.report.catalogue import FAMILIES, catalogue
from shaderc_tool.report.common import printable
from shaderc_tool.report.github import render_github
from shaderc_tool.report.json_report import render_json
from shaderc_tool.report.junit import render_junit
from shaderc_tool.report.sarif import render_sarif
from tests import corpora
from tests.report.samples import ALL, FULL

GITHUB = (
    "::error file=vulkan/turbo3.comp,line=3,col=2,title=SP1002 milady_turbo3::unknown key 'foo'%0A"
    "cause: 'foo' is not a key,%0Aand 'bar' is%0Afix: rename it%0Avulkan/turbo3.comp:2:6: the kernel%0A"
    "x.h:7: 50%25 of it%0Atool says: a,b%0A  more\n"
    "::warning file=a.yaml,title=SP1003::missing key 'pack'\n"
    "::notice title=SP1001::something\n"
)

JUNIT = """\
<?xml version='1.0' encoding='UTF-8'?>
<testsuites name="shaderpack" tests="4" failures="1" errors="0">
  <testsuite name="shaderpack" tests="4" failures="1" errors="0" skipped="0">
    <testcase classname="shaderpack" name="milady_turbo3">
      <failure type="SP1002" message="unknown key 'foo'">vulkan/turbo3.comp:3:2: error[SP1002]: unknown key 'foo'
cause: 'foo' is not a key,
and 'bar' is
fix: rename it
vulkan/turbo3.comp:2:6: note: the kernel
x.h:7: note: 50% of it
tool says: a,b
  more</failure>
    </testcase>
    <testcase classname="shaderpack" name="milady_turbo4" />
    <testcase classname="shaderpack" name="a.yaml">
      <system-out>a.yaml: warning[SP1003]: missing key 'pack'</system-out>
    </testcase>
    <testcase classname="shaderpack" name="shaderpack">
      <system-out>note[SP1001]: something</system-out>
    </testcase>
  </testsuite>
</testsuites>
"""

JSON = """\
{
  "schema": 1,
  "summary": {
    "errors": 1,
    "warnings": 0,
    "notes": 0
  },
  "diagnostics": [
    {
      "code": "SP1002",
      "severity": "error",
      "subject": "milady_turbo3",
      "place": {
        "file": "vulkan/turbo3.comp",
        "line": 3,
        "column": 2
      },
      "message": "unknown key 'foo'",
      "cause": "'foo' is not a key,\\nand 'bar' is",
      "fix": "rename it",
      "related": [
        {
          "place": {
            "file": "vulkan/turbo3.comp",
            "line": 2,
            "column": 6
          },
          "message": "the kernel"
        },
        {
          "place": {
            "file": "x.h",
            "line": 7
          },
          "message": "50% of it"
        }
      ],
      "detail": "tool says: a,b\\n  more\\n"
    }
  ]
}
"""

SARIF: dict[str, Any] = {
    "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
    "version": "2.1.0",
    "runs": [
        {
            "tool": {
                "driver": {
                    "name": "shaderpack",
                    "version": "9.9",
                    "rules": [
                        {"id": "SP1001", "shortDescription": {"text": CODES["SP1001"]}},
                        {"id": "SP1002", "shortDescription": {"text": CODES["SP1002"]}},
                        {"id": "SP1003", "shortDescription": {"text": CODES["SP1003"]}},
                    ],
                }
            },
            "columnKind": "unicodeCodePoints",
            "results": [
                {
                    "ruleId": "SP1002",
                    "ruleIndex": 1,
                    "level": "error",
                    "message": {"text": "unknown key 'foo'\ncause: 'foo' is not a key,\nand 'bar' is\nfix: rename it"},
                    "locations": [
                        {
                            "physicalLocation": {
                                "artifactLocation": {"uri": "vulkan/turbo3.comp", "uriBaseId": "%SRCROOT%"},
                                "region": {"startLine": 3, "startColumn": 2},
                            },
                            "logicalLocations": [{"fullyQualifiedName": "milady_turbo3"}],
                        }
                    ],
                    "relatedLocations": [
                        {
                            "id": 1,
                            "physicalLocation": {
                                "artifactLocation": {"uri": "vulkan/turbo3.comp", "uriBaseId": "%SRCROOT%"},
                                "region": {"startLine": 2, "startColumn": 6},
                            },
                            "message": {"text": "the kernel"},
                        },
                        {
                            "id": 2,
                            "physicalLocation": {
                                "artifactLocation": {"uri": "x.h", "uriBaseId": "%SRCROOT%"},
                                "region": {"startLine": 7},
                            },
                            "message": {"text": "50% of it"},
                        },
                    ],
                    "properties": {"detail": "tool says: a,b\n  more\n"},
                },
                {
                    "ruleId": "SP1003",
                    "ruleIndex": 2,
                    "level": "warning",
                    "message": {"text": "missing key 'pack'"},
                    "locations": [
                        {"physicalLocation": {"artifactLocation": {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"}}}
                    ],
                },
                {"ruleId": "SP1001", "ruleIndex": 0, "level": "note", "message": {"text": "something"}},
            ],
        }
    ],
}


@pytest.fixture(scope="module")
def sarif_schema() -> jsonschema.Draft4Validator:
    """The schema of SARIF 2.1.0."""
    schema = json.loads(corpora.extract("@microsoft/jest-sarif", "sarif-2.1.0-rtm.5.json").read_text("utf-8"))
    return jsonschema.Draft4Validator(schema)


TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
PLACES = st.builds(Place, TEXT.filter(bool), st.integers(0, 99), st.integers(0, 99))
DIAGNOSTICS = st.lists(
    st.builds(
        Diagnostic,
        st.sampled_from(sorted(CODES)),
        TEXT,
        st.none() | PLACES,
        TEXT,
        TEXT,
        TEXT,
        st.sampled_from(Severity),
        st.lists(st.builds(Related, PLACES, TEXT), max_size=2).map(tuple),
        TEXT,
    ),
    max_size=3,
)


def test_github_text() -> None:
    assert render_github(ALL) == GITHUB


def test_junit_text() -> None:
    assert render_junit(ALL, ["milady_turbo3", "milady_turbo4"]) == JUNIT


def test_json_text() -> None:
    assert render_json([FULL]) == JSON


def test_sarif_value() -> None:
    assert json.loads(render_sarif(ALL, "9.9")) == SARIF


@pytest.mark.parametrize("form", FORMATS)
def test_dispatch(form: Any) -> None:
    context = Context(subjects=("milady_turbo3", "milady_turbo4"), version="9.9")
    whole = render(form, ALL, context)
    assert "unknown key 'foo'" in whole
    assert whole.endswith("\n")
    if form == "junit":
        assert whole == JUNIT
    if form == "sarif":
        assert json.loads(whole) == SARIF


def test_nothing_found() -> None:
    assert render_github([]) == ""
    assert json.loads(render_json([]))["summary"] == {"errors": 0, "warnings": 0, "notes": 0}
    assert json.loads(render_sarif([], "1"))["runs"][0]["results"] == []
    assert ElementTree.fromstring(render_junit([], ["a"])).attrib["failures"] == "0"


@pytest.mark.parametrize(
    ("file", "uri", "relative"),
    [
        ("dir with space/é.comp", "dir%20with%20space/%C3%A9.comp", True),
        ("a:b#c?.comp", "a%3Ab%23c%3F.comp", True),
        ("/abs/x y.h", "file:///abs/x%20y.h", False),
        ("C:\\src\\x y.h", "file:///C:/src/x%20y.h", False),
        ("raw\udcff.h", "raw%FF.h", True),
    ],
)
def test_sarif_uris(file: str, uri: str, relative: bool) -> None:
    found = [Diagnostic("SP1001", "m", Place(file, 1))]
    result = json.loads(render_sarif(found, "1"))["runs"][0]["results"][0]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": uri, "uriBaseId": "%SRCROOT%"} if relative else {"uri": uri}


@given(found=DIAGNOSTICS)
def test_sarif_holds_the_schema_for_any_text(sarif_schema: jsonschema.Draft4Validator, found: list[Diagnostic]) -> None:
    sarif_schema.validate(json.loads(render_sarif(found, "1")))


def test_the_schema_refuses_what_is_wrong(sarif_schema: jsonschema.Draft4Validator) -> None:
    log = json.loads(render_sarif(ALL, "1"))
    sarif_schema.validate(log)
    log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    with pytest.raises(jsonschema.ValidationError):
        sarif_schema.validate(log)


@given(DIAGNOSTICS)
def test_sarif_refers_to_its_rules_and_holds_every_text(found: list[Diagnostic]) -> None:
    text = render_sarif(found, "1")
    text.encode("utf-8")
    log = json.loads(text)
    rules = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    for result, diagnostic in zip(log["runs"][0]["results"], found, strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"] == diagnostic.code
        assert diagnostic.message.encode("utf-8", "replace") in result["message"]["text"].encode("utf-8", "replace")
        for location in result.get("locations", ()):
            if "physicalLocation" in location:
                uri = location["physicalLocation"]["artifactLocation"]["uri"]
                assert uri.isascii()
                assert urlsplit(uri).scheme in ("", "file")


@given(DIAGNOSTICS)
def test_json_gives_every_field_back(found: list[Diagnostic]) -> None:
    text = render_json(found)
    text.encode("utf-8")
    for value, diagnostic in zip(json.loads(text)["diagnostics"], found, strict=True):
        assert value["message"] == diagnostic.message
        assert value["detail"] == diagnostic.detail
        assert len(value["related"]) == len(diagnostic.related)


@given(DIAGNOSTICS, st.lists(TEXT, unique=True, max_size=3))
def test_junit_is_well_formed_for_any_text_and_counts_right(found: list[Diagnostic], subjects: list[str]) -> None:
    root = ElementTree.fromstring(render_junit(found, subjects).encode("utf-8"))
    cases = root.findall("./testsuite/testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    errors = [d for d in found if d.severity is Severity.ERROR]
    assert root.attrib["tests"] == str(len(cases))
    assert root.attrib["failures"] == str(len(failed))
    assert bool(failed) == bool(errors)
    assert len(cases) >= len(subjects)
    texts = "".join(root.itertext())
    assert all(d.code in texts for d in found)


def test_junit_replaces_what_xml_cannot_hold() -> None:
    found = [Diagnostic("SP1001", 'a\x00b\x1b[m\ud800c\r\nd\re & <f> "q" ]]>', subject="s\x01")]
    case = ElementTree.fromstring(render_junit(found, ()))[0][0]
    assert case.attrib["name"] == "s\ufffd"
    failure = case[0]
    expected = 'a\ufffdb\ufffd[m\ufffdc\nd\ne & <f> "q" ]]>'
    assert failure.attrib["message"] == expected
    assert failure.text == f"error[SP1001]: {expected}"


def unescape(text: str) -> str:
    """What the runner does with the value of a workflow command."""
    for code, char in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, char)
    return text


@given(st.builds(Diagnostic, st.just("SP1001"), TEXT, PLACES.map(lambda p: Place(p.file, 1, 2)), subject=TEXT))
def test_github_commands_come_back_as_they_were(diagnostic: Diagnostic) -> None:
    text = render_github([diagnostic])
    assert text.count("\n") == 1
    _, command, message = text.rstrip("\n").split("::", 2)
    name, _, rest = command.partition(" ")
    fields = dict(field.split("=", 1) for field in rest.split(","))
    assert name == "error"
    assert unescape(message) == printable(diagnostic.message)
    assert diagnostic.place is not None
    assert unescape(fields["file"]) == printable(diagnostic.place.file)
    assert (fields["line"], fields["col"]) == ("1", "2")
    assert unquote(fields["title"]).startswith("SP1001")


def test_catalogue() -> None:
    assert catalogue({"SP2001": "no a|b", "SP1002": "two", "SP1001": "one"}) == (
        "# Diagnostics\n\nA code never changes its meaning and is never used again for another one.\n\n"
        "## Manifest and usage (SP1xxx)\n\n| code | meaning |\n| --- | --- |\n"
        "| SP1001 | one |\n| SP1002 | two |\n\n"
        "## Toolchains and devices (SP2xxx)\n\n| code | meaning |\n| --- | --- |\n| SP2001 | no a\\|b |\n"
    )


def test_every_code_belongs_to_a_family() -> None:
    assert {code[2] for code in CODES} <= FAMILIES.keys()


def test_catalogue_runs_as_a_module() -> None:
    command = [sys.executable, "-W", "error", "-m", "shaderc_tool.report.catalogue"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout == catalogue(CODES)


def test_reports_load_neither_pygments_nor_xml_until_needed() -> None:
    program = "import sys, shaderc_tool.report; print({'pygments', 'xml.etree', 'jsonschema'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
