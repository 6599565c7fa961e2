from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.evidence.tokens import tidy, tokenise, words_in

PIECES = [
    "loss",
    "Query:",
    "a:b",
    ":",
    "：",
    "1,024",
    "3.5e-4",
    "35 %",
    "'s",
    "it's",
    "损失",
    "不降",
    "e.g.",
    ". ",
    "\n\n",
    ", ",
]
PIECES += [" ", "</s>", ".item()", "item():", "micro_batch", "-1", "İ", "?", "(", ")", "x" * 80]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_the_words_alone_are_those_of_the_tokens(text: str) -> None:
    assert words_in(tidy(text)) == tokenise(tidy(text)).words
