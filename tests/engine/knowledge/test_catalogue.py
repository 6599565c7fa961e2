"""The catalogue: a page for everything, and no link that leads nowhere."""

from __future__ import annotations

import posixpath
import re

import pytest

from engine.knowledge.catalogue import catalogue
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_knowledge
from engine.knowledge.pages import explain
from tests.engine.knowledge.conftest import SmallKb

_LINK = re.compile(r"\]\(((?!https:)[^)]+)\)")


@pytest.fixture(scope="module")
def pages(knowledge: Knowledge) -> dict[str, str]:
    return catalogue(knowledge)


def test_every_cause_has_the_page_that_explain_prints(knowledge: Knowledge, pages: dict[str, str]) -> None:
    for id_ in knowledge.causes:
        page = pages[f"causes/{id_}.md"]
        assert _LINK.sub("", page).replace("[`", "`") == explain(knowledge, id_)
        assert "## Meaning" in page


def test_every_link_leads_to_a_page(pages: dict[str, str]) -> None:
    links = [(path, target) for path, text in pages.items() for target in _LINK.findall(text)]
    assert len(links) > 3_000
    assert [
        link for link in links if posixpath.normpath(posixpath.join(posixpath.dirname(link[0]), link[1])) not in pages
    ] == []


def test_a_page_does_not_link_to_itself(pages: dict[str, str]) -> None:
    assert [
        path for path, text in pages.items() if f"({posixpath.basename(path)})" in text and "index" not in path
    ] == []


def test_there_is_one_in_chinese(kb: SmallKb) -> None:
    page = catalogue(load_knowledge(kb.root), "zh")["causes/index.md"]
    assert re.search("[\u4e00-\u9fff]", page)
