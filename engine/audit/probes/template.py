"""Chat templates: what they write, how a turn ends, and whether the other files know that end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.audit.ledger import ExpectedFrom, Ledger, Place
from engine.audit.probes.generation import stop_ids
from engine.audit.probes.subject import is_chat
from engine.audit.probes.template_begin import begin
from engine.audit.template.reading import EndOfTurn, Reading, end_of_turn, read_template
from engine.audit.template.recorded import recorded_templates
from engine.audit.template.sources import TemplateSource, template_in_effect, template_sources
from engine.audit.tokenizers.files import tokenizer_files

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

# Texts at which llama.cpp stops whatever the header says (llama-vocab.cpp, from October 2024 on); other readers do not.
_KNOWN_ENDS = frozenset({
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<EOT>", "_<EOT>", "<｜end▁of▁sentence｜>",
})  # fmt: skip
_OF_READING = ("failures", "not_verbatim", "ends_turn", "end_stops", "opening_faults", "always_open", "not_prefix")


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State where templates are and what the one in effect writes."""
    sources = template_sources(checkpoint)
    source = template_in_effect(checkpoint)
    ledger.fact("audit.template.expected", _expected(checkpoint))
    _presence(checkpoint, sources, ledger)
    ledger.count("audit.template.conflicts", _conflicts(sources))
    begin(checkpoint, ledger)
    if source is None:
        if sources:
            en, zh = "There are several named templates and none is the default.", "有多个命名模板，没有默认模板。"
        else:
            en, zh = "There is no chat template.", "没有对话模板。"
        for name in (*_OF_READING, "differs_from_training"):
            ledger.unknown(f"audit.template.{name}", en, zh)
        return
    _training(checkpoint, source, ledger)
    reading = read_template(checkpoint)
    if not isinstance(reading, Reading):
        for name in _OF_READING:
            ledger.unknown(f"audit.template.{name}", f"Not rendered: {reading}.", f"未渲染：{reading}。")
        return
    ledger.count("audit.template.failures", _failures(source, reading))
    thoughts = any(word in source.text for word in ("</think>", "reasoning_content", "thinking"))
    ledger.fact("audit.template.drops_thoughts", thoughts)
    if reading.text("user") is None:
        en, zh = "The template cannot be rendered (template/tmpl-renders).", "模板无法渲染（template/tmpl-renders）。"
        for name in _OF_READING[1:]:
            ledger.unknown(f"audit.template.{name}", en, zh)
        return
    ledger.count("audit.template.not_verbatim", _not_verbatim(source, reading))
    _end(checkpoint, source, ledger)
    _opening(source, reading, ledger)
    ledger.count("audit.template.not_prefix", _not_prefix(source, reading))


def _expected(checkpoint: Checkpoint) -> bool:
    """Whether the release is meant for chat; base models ship templates whose tokens they were never trained on."""
    base_model = checkpoint.intent.paradigm == "pretrain" and checkpoint.intent.chat is None
    return is_chat(checkpoint) and not base_model


def _presence(checkpoint: Checkpoint, sources: tuple[TemplateSource, ...], ledger: Ledger) -> None:
    """Templates there are; an adapter may leave them to its base, a server may bring its own if that is declared."""
    fact = "audit.template.count"
    chat, serving = checkpoint.intent.chat, checkpoint.intent.serving
    hashed = bool(chat and chat.training_template_sha256)
    if not sources and checkpoint.kind == "adapter" and not tokenizer_files(checkpoint).vocabularies:
        if checkpoint.base is None:
            ledger.unknown(
                fact,
                "The adapter leaves the template to its base, which is not at hand.",
                "适配器把模板留给基座，而基座不在手边。",
            )
            return
        sources = template_sources(checkpoint.base)
    ledger.fact(
        fact,
        float(len(sources)),
        [Place(s.file, s.at, s.name) for s in sources] or [Place("chat_template.jinja", "", "absent")],
    )
    ledger.fact("audit.template.brought_by_server", hashed and bool(serving.get("chat_template")))


def _conflicts(sources: tuple[TemplateSource, ...]) -> Iterator[Place]:
    """Templates of one name with other texts; a line end at the end is not rendered and does not count."""
    first: dict[str, TemplateSource] = {}
    for source in sources:
        other = first.setdefault(source.name, source)
        if _same_end(source.text) != _same_end(other.text) and source.problem is None and other.problem is None:
            yield Place(
                source.file,
                source.at,
                f"sha256 {_sha(source.text)[:16]}",
                f"{_sha(other.text)[:16]} as in {other.file}",
            )


def _same_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _failures(source: TemplateSource, reading: Reading) -> Iterator[Place]:
    """Conversations that are errors, or that the template refuses although every chat has such turns."""
    for name, answer in reading.found.items():
        if answer.error is not None:
            yield Place(source.file, source.at, f"{name}: {answer.error}"[:160], "a rendered text")
        elif answer.refused is not None and reading.tried[name].must:
            yield Place(source.file, source.at, f"{name}: refused: {answer.refused!r}"[:160], "a rendered text")


def _not_verbatim(source: TemplateSource, reading: Reading) -> Iterator[Place]:
    """Contents that are not written exactly once as they are; white space at their ends may be trimmed."""
    for name, answer in reading.found.items():
        if answer.text is None or name == "empty":
            continue
        for message in reading.tried[name].messages:
            text = str(message["content"])
            count = answer.text.count(text)
            if count != 1:
                what = f"{count} times" if count else "altered" if text[:11] in answer.text else "left out"
                yield Place(source.file, source.at, f"{name}: content of {message['role']} {what}", "once, as it is")


def _end(checkpoint: Checkpoint, source: TemplateSource, ledger: Ledger) -> None:
    """How an answer ends, and whether a generation stops there."""
    end = end_of_turn(checkpoint)
    reading = read_template(checkpoint)
    after = reading.after_answer() if isinstance(reading, Reading) else None
    if after is None:
        en, zh = "The template does not write the last answer.", "模板没有写出最后的回答。"
        ledger.unknown("audit.template.ends_turn", en, zh)
        ledger.unknown("audit.template.end_stops", en, zh)
        return
    wanted = repr(end.text) if end is not None else "a token that ends the turn"
    expected_from: ExpectedFrom = "intent" if end is not None and end.declared else "tokenizer"
    place = Place(source.file, source.at, f"after an answer: {after[0]!r:.60}", wanted[:80], expected_from)
    # The marker of the next turn ends an answer only where generation stops at it.
    ends = end is not None and end.seen and not (end.next_turn and _is_stop(checkpoint, end) is False)
    ledger.fact("audit.template.ends_turn", ends, [place])
    _stops(checkpoint, end if ends else None, ledger)


def _is_stop(checkpoint: Checkpoint, end: EndOfTurn) -> bool | None:
    """Whether a generation stops at the token; None if its id or the stop ids are not known."""
    stops, id_ = stop_ids(checkpoint), tokenizer_files(checkpoint).id_of(end.text)
    return None if stops is None or id_ is None else id_ in stops


def _stops(checkpoint: Checkpoint, end: EndOfTurn | None, ledger: Ledger) -> None:
    fact = "audit.template.end_stops"
    if end is None:
        ledger.unknown(
            fact,
            "No token ends the turn (template/tmpl-end-of-turn).",
            "没有 token 结束回合（template/tmpl-end-of-turn）。",
        )
        return
    stops, id_ = stop_ids(checkpoint), tokenizer_files(checkpoint).id_of(end.text)
    if stops is None or id_ is None:
        ledger.unknown(
            fact,
            f"The id of {end.text!r:.40} or the stop ids of generation_config.json and config.json are not known.",
            f"未知 {end.text!r:.40} 的编号，或 generation_config.json 与 config.json 的停止编号。",
        )
        return
    file, at = "generation_config.json" if checkpoint.generation_config else "config.json", "$.eos_token_id"
    if checkpoint.gguf_model is not None:
        file, at = checkpoint.gguf_model.path, "tokenizer.ggml.eos_token_id"
        served = " ".join(map(str, checkpoint.intent.serving.values())).lower()
        ledger.fact("audit.template.end_known_by_text", end.text in _KNOWN_ENDS and "vllm" not in served)
    places = [Place(file, at, f"{sorted(stops)!s:.60}", f"{id_} ({end.text!r:.40}) as well", "template")]
    ledger.fact(fact, id_ in stops, places)


def _opening(source: TemplateSource, reading: Reading, ledger: Ledger) -> None:
    """How asking for an answer goes wrong: it adds nothing, or changes what stands before.

    A format whose user turn is closed by a marker of its own asks for the answer by it: adding nothing is then right.
    One that names the assistant after every user turn, asked or not, reads well to a model but not to a trainer.
    """
    faults: list[Place] = []
    always: list[Place] = []
    plain, prompted, answered = (reading.text(name) for name in ("user", "user, prompted", "one turn"))
    if plain is not None and prompted is not None:
        plain = _unclosed(plain, prompted, reading.eos)
        if not prompted.startswith(plain):
            faults.append(
                Place(source.file, source.at, "asking for an answer changes the text before it", "an addition")
            )
        elif prompted == plain:
            needed = None
            if answered is not None and reading.marks.assistant in answered and answered.startswith(plain):
                needed = answered[len(plain) :].partition(reading.marks.assistant)[0].strip()
            tail = plain.rpartition(reading.marks.user)[2]
            place = Place(source.file, source.at, f"always ends in {tail!r:.60}", "an opening only when asked for")
            opens = "assistant" in tail.lower()
            if needed or (opens and answered is not None and answered.endswith(tail)):
                faults.append(place)
            elif opens:
                always.append(place)
    ledger.count("audit.template.opening_faults", faults)
    ledger.fact("audit.template.always_open", bool(always), always)


def _unclosed(text: str, longer: str, eos: str | None) -> str:
    """The text without the end token with which some templates close everything that does not ask for an answer."""
    closed = text.rstrip("\n")
    return closed.removesuffix(eos) if eos and closed.endswith(eos) and not longer.startswith(closed) else text


def _not_prefix(source: TemplateSource, reading: Reading) -> Iterator[Place]:
    """Conversations whose rendering does not begin with that of their first turns."""
    longer = (("user", "one turn"), ("one turn", "two turns"), ("two turns, open", "two turns"))
    for short, long in longer:
        first, whole = reading.text(short), reading.text(long)
        if first is not None and whole is not None and not whole.startswith(_unclosed(first, whole, reading.eos)):
            yield Place(source.file, source.at, f"{long} does not begin as {short}", "the same text, continued")


def _training(checkpoint: Checkpoint, source: TemplateSource, ledger: Ledger) -> None:
    """Whether the template is the one that training and evaluation recorded."""
    recorded = recorded_templates(checkpoint)
    if not recorded or source.problem is not None:
        ledger.unknown(
            "audit.template.differs_from_training",
            "Neither the intent nor an evaluation file records the hash of the template.",
            "意图文件与评测文件都没有记录模板的哈希。",
        )
        return
    ours = {_sha(text) for text in (source.text, _same_end(source.text), _same_end(source.text) + "\n")}
    places = [
        Place(
            source.file, source.at, f"sha256 {_sha(source.text)[:16]}", f"{r.sha256[:16]} in {r.where}", r.expected_from
        )
        for r in recorded
        if r.sha256 not in ours
    ]
    ledger.count("audit.template.differs_from_training", places)
    stripped = {_sha(text) for text in (source.text.strip(), source.text.strip() + "\n")}
    ledger.fact("audit.template.differs_in_space_only", all(r.sha256 in ours | stripped for r in recorded))
