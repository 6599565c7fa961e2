"""Text on its way to Slack and from it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.slack.text import bold, clean, clip, escape, fitting, length, listing, plain, quoted, received, said

HIDDEN = ("Cc", "Cf", "Cs", "Co")
ANY = st.text(alphabet=st.characters(codec=None, exclude_categories=()))


@given(ANY)
def test_nothing_hidden_gets_through(text: str) -> None:
    for shown in (clean(text), plain(text, 75), escape(text), said(text), quoted(text), listing(text), bold(text)):
        assert all(c in "\n\u200c\u200d" or unicodedata.category(c) not in HIDDEN for c in shown)


@given(ANY)
def test_no_mark_of_slack_gets_through(text: str) -> None:
    for shown in (escape(text), said(text), quoted(text), listing(text), bold(text)):
        assert "<" not in shown
        assert ">" not in shown
        assert "@here" not in shown


@given(ANY, st.integers(2, 300))
def test_what_is_cut_fits(text: str, limit: int) -> None:
    assert length(clip(text, limit)) <= limit
    assert 1 <= length(plain(text, limit)) <= limit
    assert text.startswith(clip(text, limit).removesuffix("…").rstrip())


@given(st.lists(st.text(alphabet="ab 字😀", min_size=1, max_size=40), max_size=30), st.integers(30, 400))
def test_lines_that_do_not_fit_are_counted(lines: list[str], limit: int) -> None:
    shown = fitting(lines, limit, "… {count} more")
    assert length(shown) <= limit
    if shown != "\n".join(lines):
        kept, count = shown.rsplit("… ", 1)
        assert int(count.split()[0]) == len(lines) - len(kept.splitlines() if kept else [])


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ("<@U0BOT> loss is NaN", "loss is NaN"),
        ("lr &lt; 1e-4 &amp;&amp; loss &gt; 3", "lr < 1e-4 && loss > 3"),
        ("see <http://loss.nan|loss.nan> and <https://x.example/a?b=1>", "see loss.nan and https://x.example/a?b=1"),
        ("in <#C0TRAIN|train> <!here> <!subteam^S1|@oncall>", "in #train"),
        ("mail <mailto:a@b.example|a@b.example>", "mail a@b.example"),
        ("&amp;lt;", "&lt;"),
        ("```step 1 loss nan```", "```step 1 loss nan```"),
    ],
)
def test_messages_are_read_as_their_writer_saw_them(sent: str, seen: str) -> None:
    assert received(sent) == seen


def test_code_cannot_be_left() -> None:
    assert quoted("a`b") == "`a'b`"
    assert listing("```\nrm\n```").count("```") == 2
    assert bold("a*b*c") == "*a∗b∗c*"
