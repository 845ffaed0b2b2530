"""What a code host reads beside the code: licences, citation, changelog, forms for reports."""

import re
import tomllib

import pytest
import yaml

from tests.sample_class import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def test_the_citation_is_of_this_version_and_these_licences():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    assert str(citation["version"]) == PROJECT["version"]
    assert citation["license"] == ["BSD-3-Clause", "CC-BY-4.0"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{citation['version']}] - {citation['date-released']}\n" in changes


def test_the_changelog_has_the_form_of_keep_a_changelog():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.+)$", changes, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    for version in versions[1:]:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", version)
    kinds = set(re.findall(r"^### (.+)$", changes, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_code_and_text_have_their_licences():
    code = (ROOT / "LICENSE").read_text(encoding="utf-8")
    text = (ROOT / "LICENSE-TEXT").read_text(encoding="utf-8")
    for licence in (code, text):
        assert "(c) 2026, the authors of the course" in licence
    assert "Redistribution and use in source and binary forms" in code
    assert "THIS SOFTWARE IS PROVIDED" in code
    assert "https://creativecommons.org/licenses/by/4.0/" in text
    sections = re.findall(r"^Section (\d) – ", text, re.MULTILINE)
    assert sections == list("12345678"), "the licence should be there as a whole"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_can_be_shown(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    assert form["name"] and form["description"]
    ids = [item["id"] for item in form["body"] if item["type"] != "markdown"]
    assert len(set(ids)) == len(ids) > 0
    assert any(item.get("validations", {}).get("required") for item in form["body"])
    for item in form["body"]:
        assert item["type"] in KINDS
        assert item["attributes"].get("label") or item["attributes"].get("value")
        if item["type"] == "dropdown":
            assert len(set(item["attributes"]["options"])) > 1


def test_there_is_a_form_for_what_people_report():
    assert {path.stem for path in FORMS} == {
        "bug", "config", "mistake_in_a_lecture", "unfair_grade",
    }  # fmt: skip
