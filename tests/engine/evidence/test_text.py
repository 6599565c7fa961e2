"""Reports read as clauses with a status."""

from __future__ import annotations

import cProfile
import pstats

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.text import TextReader
from engine.evidence.tokens import tidy
from engine.model.evidence import FindingReading


def read(reader: TextReader, text: str) -> dict[str, str]:
    readings, _ = reader.read(text)
    return {reading.finding: reading.state for reading in readings if isinstance(reading, FindingReading)}


def status(reader: TextReader, text: str, target: str) -> set[str]:
    return {said.status for said in reader.said(text) if said.target.id == target}


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("The loss becomes NaN after 300 steps.", "loss.nan"),
        ("loss went to NAN", "loss.nan"),
        ("the LOSS is not a number", "loss.nan"),
        ("The loss not only spikes but becomes NaN.", "loss.nan"),
        ("The loss not only spikes but becomes NaN.", "loss.spikes"),
        ("No doubt: the loss is NaN", "loss.nan"),
        ("I have no idea why the loss is NaN.", "loss.nan"),
        ("I don't know why the loss spikes", "loss.spikes"),
        ("It is not that the loss is not NaN", "loss.nan"),
        ("The loss is not NaN, it is just stuck.", "loss.stuck"),
        ("loss does not fall", "loss.stuck"),
        ("the answer never stops", "output.never-stops"),
        ("the critic loss grows and grows instead of falling", "critic.rises"),
        ("Zero-shot output never stops", "output.never-stops"),
        ("We did not change anything and the loss spikes", "loss.spikes"),
        ("模型停不下来", "output.never-stops"),
        ("loss不下降", "loss.stuck"),
        ("不只是尖峰，还出现NaN", "loss.nan"),
        ("不知道为什么loss变成NaN", "loss.nan"),
        ("第一个epoch还没结束loss就卡在3.46左右", "loss.stuck"),
        ("loss 没有 NaN，但是一直卡住", "hang"),
        ("无论怎么调，损失都有尖峰", "loss.spikes"),
    ],
)
def test_asserted(reader: TextReader, text: str, finding: str) -> None:
    assert read(reader, text).get(finding) == "present"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("There is no NaN in the loss.", "loss.nan"),
        ("found 0 nan values", "loss.nan"),
        ("zero NaNs so that is good", "loss.nan"),
        ("loss never becomes NaN", "loss.nan"),
        ("The loss isn’t NaN", "loss.nan"),
        ("without any NaN", "loss.nan"),
        ("NaN does not occur", "loss.nan"),
        ("no longer NaN", "loss.nan"),
        ("We see neither NaN nor OOM.", "loss.nan"),
        ("We see neither NaN nor OOM.", "oom"),
        ("no NaN or OOM", "oom"),
        ("the loss grows instead of falling", "loss.falls"),
        ("Contamination filtering is not it.", "data.contaminated"),
        ("We ruled out contamination.", "data.contaminated"),
        ("Contamination and OOM were ruled out.", "data.contaminated"),
        ("Contamination is nothing to do with it", "data.contaminated"),
        ("It doesn't hang", "hang"),
        ("Loss spikes are normal", "loss.spikes"),
        ("losses stay finite", "loss.nan"),
        ("没有出现 NaN", "loss.nan"),
        ("从未出现NaN", "loss.nan"),
        ("loss没有变成NaN", "loss.nan"),
        ("NaN 没有出现", "loss.nan"),
        ("NaN 不再出现", "loss.nan"),
        ("loss 不是 NaN", "loss.nan"),
        ("没有报错也没有NaN", "loss.nan"),
        ("数据污染已经排除。", "data.contaminated"),
        ("排除了数据污染", "data.contaminated"),
        ("并非爆显存", "oom"),
        ("损失尖峰是正常的", "loss.spikes"),
    ],
)
def test_denied(reader: TextReader, text: str, finding: str) -> None:
    assert read(reader, text).get(finding) == "absent"


@pytest.mark.parametrize(
    ("text", "finding", "said"),
    [
        ("I suspect that gradients are not combined.", "grad.not-combined", "suspected"),
        ("Maybe the template is wrong", "template.wrong", "suspected"),
        ("Could it be contamination?", "data.contaminated", "suspected"),
        ("It looks as if the template is wrong", "template.wrong", "suspected"),
        ("Is the quantisation to blame?", "context.quantised", "asked"),
        ("The loss is fine, is the template wrong?", "template.wrong", "asked"),
        ("Do we have contamination?", "data.contaminated", "asked"),
        ("Not sure whether the loss is NaN", "loss.nan", "suspected"),
        ("I don't know if the loss is NaN.", "loss.nan", "suspected"),
        ("The loss should be stuck", "loss.stuck", "suspected"),
        ("怀疑是数据污染", "data.contaminated", "suspected"),
        ("可能是数据污染", "data.contaminated", "suspected"),
        ("是模板写错了吗？", "template.wrong", "asked"),
        ("是不是数据污染导致的？", "data.contaminated", "asked"),
        ("loss 会不会 NaN？", "loss.nan", "asked"),
        ("There was no NaN until step 300", "loss.nan", "past"),
        ("The loss was fine until step 300.", "normal.loss", "past"),
        ("The loss was fine, then it jumped.", "normal.loss", "past"),
        ("损失正常，后来突然变高", "normal.loss", "past"),
        ("之前没有NaN", "loss.nan", "past"),
        ("Restarting with loss spikes skipped had no effect", "loss.spikes", "asserted"),
        ("Lowering the loss spikes had no effect", "loss.spikes", "tried"),
    ],
)
def test_status(reader: TextReader, text: str, finding: str, said: str) -> None:
    assert status(reader, text, finding) == {said}
    if said != "asserted":
        assert finding not in read(reader, text)


@pytest.mark.parametrize(
    "text",
    [
        "loss goes NaN at step 300, why?",
        "Why does the loss become NaN?",
        "Does anyone know why the loss is NaN?",
        "Has anyone seen the loss going NaN?",
        "The loss is NaN. Is this a logging problem?",
        "loss 变成 NaN 了，怎么回事？",
        "有没有人遇到过loss变成NaN的情况？",
        "为什么loss是NaN？",
    ],
)
def test_a_question_about_a_symptom_does_not_hide_it(reader: TextReader, text: str) -> None:
    assert read(reader, text).get("loss.nan") == "present"


def test_the_longest_subject_wins(reader: TextReader) -> None:
    assert read(reader, "critic loss grows") == {"critic.rises": "present"}
    assert read(reader, "The value loss grows while the loss is stuck.") == {
        "critic.rises": "present",
        "loss.stuck": "present",
    }


def test_compounds_are_not_their_parts(reader: TextReader) -> None:
    assert "normal.single-gpu" not in read(reader, "Fine-tuned on one GPU")
    assert "normal.loss" not in read(reader, "loss in fine-tuning")


def test_contrasts_cut_a_sentence(reader: TextReader) -> None:
    assert read(reader, "Loss is fine but the critic loss grows") == {
        "normal.loss": "present",
        "critic.rises": "present",
    }
    assert "loss.rises" not in read(reader, "the loss is old but memory grows")
    assert read(reader, "损失正常，但是输出停不下来") == {"normal.loss": "present", "output.never-stops": "present"}


def test_a_phrase_stays_within_its_window_and_sentence(reader: TextReader) -> None:
    assert "loss.rises" not in read(reader, "The loss is printed. Memory grows.")
    far = "the loss of our very large and rather old language model in the second cluster grows"
    assert "loss.rises" not in read(reader, far)


def test_height_of_a_spike_is_no_rise(reader: TextReader) -> None:
    peak = {one.target.id for one in reader.said("The loss spiked from 2.1 to 6.8.")}
    rise = {one.target.id for one in reader.said("The loss went from 2.1 to 6.8.")}
    assert "loss.spikes" in peak
    assert "loss.rises" not in peak
    assert "loss.rises" in rise


def test_time_of_day_stays_whole_in_the_quote(reader: TextReader) -> None:
    said = reader.said("The loss is NaN since 02:10, we stopped it.")
    assert said[0].quote == "The loss is NaN since 02:10"


def test_quoted_parts_stand_together(reader: TextReader) -> None:
    assert read(reader, "a gradient shard is lost") == {"gradient.shards": "present"}
    assert read(reader, "the gradient of that shard is lost") == {}


def test_tags_calls_and_colons_are_forms(reader: TextReader) -> None:
    assert read(reader, "the prompt starts with <s> twice") == {"bos.doubled": "present"}
    assert read(reader, "26 s in the next") == {}
    assert read(reader, "called loss.item() each step") == {"host.sync": "present"}
    assert read(reader, "an item of the list") == {}
    assert read(reader, "texts begin with query: and more") == {"prompt.prefix": "present"}
    assert read(reader, "a query to the index") == {}


def test_facts_may_have_phrases(reader: TextReader) -> None:
    for text, value in (("it ran OOM", True), ("no OOM", False)):
        readings, _ = reader.read(text)
        assert [(r.fact, r.value) for r in readings if not isinstance(r, FindingReading)] == [("run.oom_said", value)]


def test_asserted_beats_denied_and_counts_once(reader: TextReader) -> None:
    readings, _ = reader.read("No NaN in the first run. In the second the loss is NaN. The loss is NaN again.")
    assert [(r.finding, r.state) for r in readings if isinstance(r, FindingReading)] == [("loss.nan", "present")]


def test_the_source_is_the_clause(reader: TextReader) -> None:
    readings, _ = reader.read("We waited, then the loss spiked badly, sadly.", where="note")
    assert readings[0].source.where == "note"
    assert readings[0].source.kind == "prose"
    assert readings[0].source.quote == "then the loss spiked badly"


@pytest.mark.parametrize(
    ("en", "zh"),
    [
        ("The loss becomes NaN.", "损失变成NaN。"),
        ("There is no NaN in the loss.", "损失没有出现NaN。"),
        ("Single GPU is fine, several GPUs hang.", "单卡正常，多卡卡住。"),
        ("The loss spikes but there is no NaN.", "损失有尖峰，但没有NaN。"),
        ("Is the template wrong?", "是模板错了吗？"),
        ("I suspect contamination.", "我怀疑是数据污染。"),
        ("We ruled out contamination.", "已经排除数据污染。"),
        ("The answer never stops, why?", "输出停不下来，为什么？"),
        ("Changed the template, it did not help.", "换了模板，没用。"),
        ("Changing the template fixed it.", "换模板就好了。"),
        ("Only in fp16", "只在fp16"),
        ("ZeRO-2 works, ZeRO-3 hangs", "ZeRO-2 正常，ZeRO-3 卡住"),
        ("The code is unchanged.", "代码没有改。"),
        ("one gpu hangs too", "单卡也卡住"),
    ],
)
def test_both_languages_say_the_same(reader: TextReader, en: str, zh: str) -> None:
    assert read(reader, en) == read(reader, zh)
    assert {(s.target.id, s.status) for s in reader.said(en)} == {(s.target.id, s.status) for s in reader.said(zh)}


@pytest.mark.parametrize("text", ["ｌｏｓｓ is ＮａＮ", "l\u200boss is N\u200baN", "\ufeffloss is nan", "LOSS_IS-NaN"])
def test_disguised_characters(reader: TextReader, text: str) -> None:
    assert read(reader, text) == {"loss.nan": "present"}


WORDS = "loss NaN no not but spikes . , ? ! 没有 损失 尖峰 但是 吗 is fine 8 GPUs lr 3e-4 fp16 tried fixed <s> : 卡 İ"
PIECES = st.sampled_from([*WORDS.split(), "\u200b", "\n\n", " "])
LISTS = st.lists(PIECES, max_size=40)


@settings(max_examples=300)
@given(text=st.one_of(st.text(max_size=200), LISTS.map(" ".join), LISTS.map("".join)))
def test_any_text_is_read_the_same_twice(reader: TextReader, text: str) -> None:
    first = reader.read(text)
    assert reader.read(text) == first
    for said in reader.said(text):
        assert 0 <= said.start < said.end <= len(tidy(text))
        assert said.quote in tidy(text)
        assert len(said.quote) <= 200


@pytest.mark.parametrize(
    "piece",
    [
        ",",
        "loss ",
        "loss NaN ",
        "卡",
        "no NaN but ",
        "not ",
        "\n ",
        "a",
        "1,",
        "fp16 8 GPUs lr 3e-4 ",
        "loss，",
        "(",
        "is it ",
    ],
)
def test_the_work_grows_with_the_text_and_no_faster(reader: TextReader, piece: str) -> None:
    """Counted in calls of Python functions, which do not depend on the machine."""
    small, large = (_calls(reader, piece * (size // len(piece))) for size in (5_000, 20_000))
    assert large <= 5 * small + 2_000


def _calls(reader: TextReader, text: str) -> int:
    profile = cProfile.Profile()
    profile.enable()
    reader.read(text)
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_two_hundred_kilobytes_are_read(reader: TextReader) -> None:
    for piece in ("loss is NaN, ", "没有NaN，", "," * 50):
        readings, _ = reader.read(piece * (200_000 // len(piece)))
        assert len(readings) <= 1


def test_text_without_punctuation_is_cut() -> None:
    from engine.evidence.tokens import MAX_CLAUSE, MAX_SENTENCE, tokenise

    tokens = tokenise("rank 3 gpu 0 oom " * 3000)
    assert max(tokens.clauses.count(clause) for clause in set(tokens.clauses)) <= MAX_CLAUSE
    assert max(sentence.end - sentence.start for sentence in tokens.sentences) <= MAX_SENTENCE
    assert [sentence.start for sentence in tokens.sentences[1:]] == [s.end for s in tokens.sentences[:-1]]


def test_a_call_is_found_by_its_bare_name() -> None:
    from engine.evidence.lexicon import Layer, Lexicon

    lexicon = Lexicon()
    lexicon.add(Layer.CONCEPT, "SYNC", "item")
    lexicon.add(Layer.CONCEPT, "ROLE", "query")
    assert [hit.name for hit in lexicon.find(["item()"])] == ["SYNC"]
    assert [hit.name for hit in lexicon.find(["query:"])] == ["ROLE"]
