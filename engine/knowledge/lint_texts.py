"""KB3xx: texts for people, phrases, and the patterns of log lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import re2

from engine.knowledge import lint_phrases
from engine.knowledge.lint_conditions import pattern_error
from engine.knowledge.lint_context import Context, Remark, Rule
from engine.model.base import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.knowledge.problems import DataPath
    from engine.knowledge.sources import Placed
    from engine.model.kb import Signature

MAX_TITLE = 80
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LITERAL = re.compile(r"'[^']*'")
_CONCEPT = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_TEXT_KINDS = ("facts", "findings", "causes", "checks", "gates", "policies", "pipelines", "advice", "retired")


def _texts(context: Context) -> Iterator[tuple[Placed[Any], DataPath, Text]]:
    for kind in _TEXT_KINDS:
        for placed in context.sources.of(kind).values():
            for path, text in _texts_in(placed.value, ()):
                yield placed, path, text


def _texts_in(value: Any, path: DataPath) -> Iterator[tuple[DataPath, Text]]:
    if isinstance(value, Text):
        yield path, value
    elif isinstance(value, tuple):
        for index, part in enumerate(value):
            yield from _texts_in(part, (*path, index))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts_in(part, (*path, key))
    elif hasattr(type(value), "model_fields"):
        for name, info in type(value).model_fields.items():
            yield from _texts_in(getattr(value, name), (*path, info.alias or name))


def titles_are_short(context: Context) -> Iterator[Remark]:
    """KB301: a title fits one line of a chat message."""
    for placed, path, text in _texts(context):
        if path[-1] == "title":
            for lang, words in (("en", text.en), ("zh", text.zh)):
                if len(words) > MAX_TITLE:
                    message = f"the title has {len(words)} characters, at most {MAX_TITLE} are allowed"
                    yield Remark(placed, (*path, lang), message, "Say what is wrong, not how to find or repair it")


def chinese_is_chinese(context: Context) -> Iterator[Remark]:
    """KB302: a Chinese text holds at least one Chinese character."""
    for placed, path, text in _texts(context):
        if not _HAN.search(text.zh):
            yield Remark(placed, (*path, "zh"), "the Chinese text has no Chinese character", "Write it in Chinese")
    for placed in context.causes():
        for index, words in enumerate(placed.value.presentation.get("zh", ())):
            if not _HAN.search(words):
                path = ("presentation", "zh", index)
                yield Remark(placed, path, "the Chinese text has no Chinese character", "Write it in Chinese")


def concepts_exist(context: Context) -> Iterator[Remark]:
    """KB303: a word in capitals within a phrase is a concept of the lexicon."""
    known = context.single("lexicon.yaml")
    if known is None:
        return
    for placed, path, phrases in context.phrases():
        for key in ("any", "en", "zh"):
            for index, phrase in enumerate(getattr(phrases, key)):
                for name in _CONCEPT.findall(_LITERAL.sub("", phrase)):
                    if name not in known:
                        hint = "Add it to kb/lexicon.yaml; if it is no concept, use small letters or 'quotes'"
                        yield Remark(placed, (*path, key, index), f"the lexicon has no concept '{name}'", hint)


def any_is_concepts(context: Context) -> Iterator[Remark]:
    """KB304: a phrase that serves every language is made of concepts and literals only."""
    for placed, path, phrases in context.phrases():
        for index, phrase in enumerate(phrases.any):
            if rest := _CONCEPT.sub("", _LITERAL.sub("", phrase)).strip():
                hint = "Put the phrase under 'en' or 'zh'"
                yield Remark(placed, (*path, "any", index), f"'{rest}' belongs to one language only", hint)


def placeholders_exist(context: Context) -> Iterator[Remark]:
    """KB305: what stands in braces is a fact (or the parameter's value), in both languages the same ones."""
    for placed, path, text in _texts(context):
        names = {lang: set(_PLACEHOLDER.findall(words)) for lang, words in (("en", text.en), ("zh", text.zh))}
        allowed = context.facts if path[-1] == "because" else {}
        has_value = getattr(placed.value, "parameter", None) is not None
        for name in sorted(names["en"] | names["zh"]):
            if not (name in allowed or (name == "value" and has_value) or name in context.sources.broken):
                hint = "Write the id of a fact, or take the braces away; only 'because' shows values"
                yield Remark(placed, path, f"'{{{name}}}' stands for nothing here", hint)
        if names["en"] != names["zh"]:
            yield Remark(placed, path, "English and Chinese show different values", "Use the same braces in both")


def because_placeholders(context: Context) -> set[str]:
    """The facts whose values are shown in sentences."""
    sentences = [text for _, path, text in _texts(context) if path[-1] == "because"]
    return {name for text in sentences for name in _PLACEHOLDER.findall(text.en + text.zh)}


def template_is_filled(context: Context) -> Iterator[Remark]:
    """KB307: the prompts of a new cause, <in angle brackets>, are replaced before it leaves draft."""
    for cause in context.causes():
        if cause.value.status == "draft":
            continue
        names = {"findings": [link.finding for link in cause.value.shows], "checks": cause.value.checks}
        used = (context.sources.objects[kind].get(name) for kind, of in names.items() for name in of)
        for placed in (cause, *filter(None, used)):
            for path, text in _texts_in(placed.value, ()):
                if _is_prompt(text.en) or _is_prompt(text.zh):
                    yield Remark(placed, path, "the text is still the template's", "Write your own")
        for lang, wordings in cause.value.presentation.items():
            for index, words in enumerate(wordings):
                if _is_prompt(words):
                    path = ("presentation", lang, index)
                    yield Remark(cause, path, "the text is still the template's", "Write your own")


def _is_prompt(text: str) -> bool:
    return text.startswith("<") and text.endswith(">")


def signatures_match(context: Context) -> Iterator[Remark]:
    """KB306: the pattern compiles, finds its examples and leaves its counter-examples alone."""
    for placed in context.sources.of("signatures").values():
        yield from _signature(placed)


def _signature(placed: Placed[Signature]) -> Iterator[Remark]:
    signature = placed.value
    wrong = False
    for key in ("pattern", "unless"):
        pattern = getattr(signature, key)
        if pattern is not None and (error := pattern_error(pattern)):
            wrong = True
            yield Remark(
                placed,
                (key,),
                f"the pattern does not compile: {error}",
                "RE2 has no look-around, no back-references",
            )
    if wrong:
        return
    for key, should in (("examples", True), ("counter_examples", False)):
        for index, line in enumerate(getattr(signature, key)):
            if matches(signature, line) is not should:
                message = f"the signature {'misses' if should else 'takes'} this line"
                yield Remark(placed, (key, index), message, "Correct 'pattern' or 'unless', or the line")
    groups = set(re2.compile(signature.pattern).groupindex)
    for name in signature.fields:
        if name not in groups:
            yield Remark(placed, ("fields", name), f"the pattern has no group '{name}'", f"Write (?P<{name}>...) in it")


def matches(signature: Signature, line: str) -> bool:
    """Whether the signature finds the line and no guard holds it back."""
    guarded = signature.unless is not None and re2.search(signature.unless, line) is not None
    return re2.search(signature.pattern, line) is not None and not guarded


RULES = (
    Rule("KB301", "error", titles_are_short),
    Rule("KB302", "error", chinese_is_chinese),
    Rule("KB303", "error", concepts_exist),
    Rule("KB304", "error", any_is_concepts),
    Rule("KB305", "error", placeholders_exist),
    Rule("KB306", "error", signatures_match),
    Rule("KB307", "error", template_is_filled),
    *lint_phrases.RULES,
)
