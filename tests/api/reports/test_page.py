"""The page: failed gates first, complete as sent, nothing from a checkpoint becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from api.reports.page import coded, page
from engine.model.audit import AuditedFile
from tests.api.reports.results import hostile, result


class Tags(HTMLParser):
    """Names and attributes of the elements, and that every one is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_failed_first() -> None:
    text = page(result(), "en")
    places = [text.index(f'id="{name}"') for name in ("failed", "lacking", "waived")]
    assert places == sorted(places)
    assert (
        text.index("container/st-file-length") < text.index("template/tmpl-renders") < text.index("config/cfg-parses")
    )


def test_it_is_whole_and_asks_nobody() -> None:
    tags = Tags(page(result(), "en"))
    assert tags.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(tags.names)
    assert not any(name in ("src", "href", "style") or name.startswith("on") for name, _ in tags.attributes)


def test_hostile_texts_stay_texts() -> None:
    text = page(hostile(), "en")
    tags = Tags(text)
    assert "script" not in tags.names
    assert "&lt;script&gt;" in text
    assert not {"\x1b", "\x00", "\u202e"} & set(text)
    text.encode()


def test_places_and_hashes_are_shown() -> None:
    text = page(result(), "en")
    for part in ("bytes 0..8", "<code>123</code>", "6 more places", "ab" * 32, "not read", "needed by the old server"):
        assert part in text


def test_a_pass_has_no_empty_sections() -> None:
    text = page(result((), "pass"), "zh")
    assert not re.search('id="(failed|lacking|waived)"', text)
    assert '<html lang="zh">' in text


def test_many_files_are_cut() -> None:
    files = [AuditedFile(path=f"shard-{number}", size=1) for number in range(2_500)]
    text = page(result(files=files), "en")
    assert text.count("<code>shard-") == 2_000
    assert "… 500" in text


def test_what_stands_between_backticks_is_code() -> None:
    assert str(coded("Add `a<b>` to <it>.")) == "Add <code>a&lt;b&gt;</code> to &lt;it&gt;."
    assert str(coded("a lone ` stays")) == "a lone ` stays"
