"""Both languages say the same: the same places to fill, and words of their own."""

import re

import pytest

from engine.dialogue.wording import _SENTENCES

_PLACE = re.compile(r"\{(\w+)\}")


@pytest.mark.parametrize("key", _SENTENCES)
def test_both_languages_have_the_same_places(key: str) -> None:
    text = _SENTENCES[key]
    assert set(_PLACE.findall(text.en)) == set(_PLACE.findall(text.zh))


@pytest.mark.parametrize("key", [key for key, text in _SENTENCES.items() if _PLACE.sub("", text.en).strip(" .)→:")])
def test_chinese_is_chinese(key: str) -> None:
    zh = _PLACE.sub("", _SENTENCES[key].zh)
    assert re.search("[\u4e00-\u9fff]", zh) or not re.search("[a-z]", _PLACE.sub("", _SENTENCES[key].en))
