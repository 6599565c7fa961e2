"""The token that begins a text: how often the rendered and encoded chat has it, and whether the base puts it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.audit.ledger import Ledger, Place
from engine.audit.template.reading import Reading, read_template
from engine.audit.tokenizers.files import TokenizerFiles, tokenizer_files
from engine.audit.tokenizers.parts import single_frame

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

# Classes of transformers that rebuild the post-processor from the flag add_bos_token when they load.
_REBUILT = ("LlamaTokenizer", "GemmaTokenizer", "CodeLlamaTokenizer", "CohereTokenizer")


def begin(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State how many begin tokens a rendered and encoded chat starts with, on the declared path or on both."""
    files = tokenizer_files(checkpoint)
    token = files.named.get("bos_token")
    reading = read_template(checkpoint)
    text = reading.text("one turn") if isinstance(reading, Reading) else None
    if text is None:
        en, zh = "The template cannot be rendered.", "模板无法渲染。"
        ledger.unknown("audit.template.begin_tokens", en, zh)
        ledger.unknown("audit.template.base_begins", en, zh)
        return
    written = _leading(text, token)
    adds = adds_begin(files) if token else False
    _state_count(checkpoint, files, written, adds, ledger)
    _state_base(checkpoint, ledger)


def _leading(text: str, token: str | None) -> int:
    count = 0
    while token and text.startswith(token):
        text, count = text[len(token) :], count + 1
    return count


def _state_count(
    checkpoint: Checkpoint, files: TokenizerFiles, written: int, adds: bool | None, ledger: Ledger
) -> None:
    fact = "audit.template.begin_tokens"
    path = checkpoint.intent.chat.serving_path if checkpoint.intent.chat else None
    where = files.config.path if files.config else files.prefix + "tokenizer_config.json"

    def state(count: int, how: str) -> None:
        ledger.fact(
            fact,
            float(count),
            [Place(where, "$.chat_template", f"{count} begin tokens {how}", "at most 1")],
        )

    if path == "template_ids":
        state(written, "in the rendered text")
    elif adds is None and (path is not None or written == 1):
        ledger.unknown(
            fact,
            "Whether encoding adds a begin token cannot be told from tokenizer.json and tokenizer_config.json.",
            "从 tokenizer.json 与 tokenizer_config.json 无法判断编码是否添加起始 token。",
        )
    elif path == "template_text_then_tokenizer":
        state(written + bool(adds), "after rendering and encoding")
    elif not adds or written > 1:
        state(written, "in the rendered text")
    elif written:
        ledger.unknown(
            fact,
            "The template writes the begin token and encoding adds one: doubled if the rendered text is encoded with "
            "special tokens. The intent's chat.serving_path does not say which way is taken.",
            "模板写出起始 token，编码又会添加一个：若渲染文本再以默认特殊 token 编码就会重复。"
            "意图文件的 chat.serving_path 未说明走哪条路径。",
        )
    else:
        ledger.unknown(
            fact,
            "Only encoding adds the begin token; the intent's chat.serving_path does not say whether it is used.",
            "只有编码会添加起始 token；意图文件的 chat.serving_path 未说明是否使用。",
        )


def _state_base(checkpoint: Checkpoint, ledger: Ledger) -> None:
    before = tokenizer_files(checkpoint.base) if checkpoint.base else None
    adds = adds_begin(before) if before is not None and before.usable else None
    if before is None or adds is None:
        ledger.unknown(
            "audit.template.base_begins",
            "Whether the base begins its texts with a token is not known: its tokenizer is absent, or does not tell.",
            "未知基座是否以起始 token 开头：其分词器不在手边或无法判断。",
        )
        return
    where = f"base/{before.prefix}tokenizer.json"
    ledger.fact(
        "audit.template.base_begins",
        adds,
        [Place(where, "$.post_processor", f"adds {'a' if adds else 'no'} begin token")],
    )


def adds_begin(files: TokenizerFiles) -> bool | None:
    """Whether plain encoding puts the begin token in front; None if releases of the library do not agree on it."""
    view, token = files.usable, files.named.get("bos_token")
    if view is None:
        return None
    frame = single_frame(view)
    by_file = token is not None and frame is not None and frame[0][:1] == [token]
    flag = files.settings.get("add_bos_token")
    if isinstance(flag, bool):
        if str(files.settings.get("tokenizer_class", "")).startswith(_REBUILT):
            return flag and token is not None
        return by_file if flag == by_file else None
    return None if frame is None else by_file
