"""Tokenizer files: whether they can be loaded, agree with each other and with the base, and lose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.audit.documents import shown, written
from engine.audit.gguf import TOKENS
from engine.audit.ledger import Ledger, Place
from engine.audit.probes.positions import transformers_read_by
from engine.audit.template.reading import Reading, end_of_turn, read_template
from engine.audit.tokenizers.files import TokenizerFiles, content, tokenizer_files
from engine.audit.tokenizers.parts import canonical, is_lossy_by_design, losses, options
from engine.audit.tokenizers.view import Tokenizer

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

_OF_VIEW = ("not_single", "disagreements", "shared_ids", "losses", "changed_parts", "baked_limits", "lossy_by_design")
# Names of classes that transformers 4 does not have and refuses.
_NEW_CLASSES = ("TokenizersBackend", "PythonBackend", "SentencePieceBackend", "MistralCommonBackend")
_TEXT_KINDS = frozenset({"causal_lm", "seq2seq", "encoder", "classifier", "sentence_transformers", "adapter"})
_TEXT_MODULES = ("Transformer", "StaticEmbedding")


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the tokenizer files say."""
    files = tokenizer_files(checkpoint)
    if not _expected(checkpoint, files, ledger):
        return
    ledger.count("audit.tokenizer.unusable", _unusable(checkpoint, files))
    _padding(checkpoint, files, ledger)
    _read_by_server(checkpoint, files, ledger)
    view = files.usable
    if view is None:
        _unseen(files, ledger)
        return
    ledger.count("audit.tokenizer.not_single", _not_single(checkpoint, files, view))
    ledger.count("audit.tokenizer.disagreements", _disagreements(files, view))
    _ids(checkpoint, view, ledger)
    _round_trip(view, ledger)
    _against_base(checkpoint, view, ledger)
    _limits(checkpoint, files, view, ledger)


def _read_by_server(checkpoint: Checkpoint, files: TokenizerFiles, ledger: Ledger) -> None:
    """Whether tokenizer_config.json has what only version 5 of transformers reads, and version 4 serves it."""
    if not files.vocabularies:
        ledger.unknown("audit.tokenizer.unread", "There is no tokenizer.", "没有分词器。")
        return
    places = []
    if files.settings.get("tokenizer_class") in _NEW_CLASSES:
        at, observed = "$.tokenizer_class", shown(files.settings["tokenizer_class"])
        places.append(Place(_config_path(files), at, observed, "PreTrainedTokenizerFast", "intent"))
    if isinstance(files.settings.get("extra_special_tokens"), list):
        places.append(Place(_config_path(files), "$.extra_special_tokens", "a list", "tokens by name", "intent"))
    reader = transformers_read_by(checkpoint.intent.serving)
    if places and reader is None:
        ledger.unknown(
            "audit.tokenizer.unread",
            "tokenizer_config.json is of transformers 5, and the intent does not say which version serves it.",
            "tokenizer_config.json 由 transformers 5 写出，而意图文件没有说明由哪个版本提供服务。",
        )
    else:
        ledger.count("audit.tokenizer.unread", places if reader == "v4" else ())


def _config_path(files: TokenizerFiles) -> str:
    return files.config.path if files.config else files.prefix + "tokenizer_config.json"


def _expected(checkpoint: Checkpoint, files: TokenizerFiles, ledger: Ledger) -> bool:
    """Whether the checkpoint needs a tokenizer of its own; states it, or why it is not known."""
    fact = "audit.tokenizer.expected"
    kind = checkpoint.kind
    expected = bool(files.vocabularies)
    if kind == "adapter" and not expected:
        if checkpoint.base is None:
            ledger.unknown(
                fact,
                "The adapter has no tokenizer of its own and the base that would bring one is not at hand.",
                "适配器没有自带分词器，而提供分词器的基座不在手边。",
            )
            return False
    elif kind == "gguf":
        expected = checkpoint.gguf_model is not None
    elif kind == "sentence_transformers":
        expected = expected or _first_module(checkpoint) in _TEXT_MODULES
    elif kind in _TEXT_KINDS and checkpoint.config is not None:
        config = checkpoint.config.mapping
        inner = config.get("text_config")
        expected = expected or "vocab_size" in config or (isinstance(inner, dict) and "vocab_size" in inner)
    ledger.fact(fact, expected)
    return expected


def _first_module(checkpoint: Checkpoint) -> str:
    modules = checkpoint.json("modules.json")
    first = modules.value[0] if modules and isinstance(modules.value, list) and modules.value else None
    return str(first.get("type")).rpartition(".")[2] if isinstance(first, dict) else ""


def _unusable(checkpoint: Checkpoint, files: TokenizerFiles) -> Iterator[Place]:
    name = files.prefix + "tokenizer.json"
    if not files.vocabularies and checkpoint.gguf_model is not None:
        yield Place(checkpoint.gguf_model.path, TOKENS, "absent", "the tokens of the vocabulary", "format")
    elif not files.vocabularies:
        yield Place(name, "", "no file that holds a vocabulary", "tokenizer.json, or a vocabulary in another form")
    if files.json is not None and files.json.problem is not None:
        yield Place(name, "", files.json.problem, "a JSON object", "format")
    for fault in files.view.faults if files.view else ():
        yield Place(name, fault.at, fault.observed, fault.expected, "format")
    for document in (files.config, files.special_tokens_map, files.added_tokens):
        if document is not None and not isinstance(document.value, dict):
            yield Place(document.path, "", document.problem or "no object", "a JSON object", "format")


def _unseen(files: TokenizerFiles, ledger: Ledger) -> None:
    if files.json is not None:
        en, zh = "tokenizer.json cannot be loaded (tokenizer/tok-present-loads).", "tokenizer.json 无法加载。"
    elif files.vocabularies:
        name = files.vocabularies[0]
        en = f"There is no tokenizer.json; ids and steps are not read from {name}."
        zh = f"没有 tokenizer.json；不从 {name} 读取编号与处理步骤。"
    else:
        en, zh = "There is no tokenizer.", "没有分词器。"
    for name in _OF_VIEW:
        ledger.unknown(f"audit.tokenizer.{name}", en, zh)


def _not_single(checkpoint: Checkpoint, files: TokenizerFiles, view: Tokenizer) -> Iterator[Place]:
    """Tokens that are named, declared or written by the template, and are no token of tokenizer.json.

    One that is a plain piece counts as a token: the libraries add named tokens under the id of the piece.
    """
    config = files.config.path if files.config else files.prefix + "special_tokens_map.json"
    named = [(text, config, f"$.{role}") for role, text in files.named.items()]
    named += [(text, config, "among the special tokens") for text in files.extra]
    chat = checkpoint.intent.chat
    if chat and chat.end_of_turn_token:
        named.append((chat.end_of_turn_token, "intent", "chat.end_of_turn_token"))
    reading = read_template(checkpoint)
    if isinstance(reading, Reading):
        written = reading.written()
        before = tokenizer_files(checkpoint.base).view if checkpoint.base else None
        known = [(token.content, config) for token in files.decoder.values()]
        known += [(token.content, "base/tokenizer.json") for token in before.added] if before else []
        named += [(text, file, "written by the chat template") for text, file in known if text in written]
    seen: set[str] = set()
    for text, file, at in named:
        if text not in seen and view.is_one_token(text) is False:
            seen.add(text)
            yield Place(file, at, f"{text!r:.60} is no token of tokenizer.json", "one token, one id", "tokenizer")


def _disagreements(files: TokenizerFiles, view: Tokenizer) -> Iterator[Place]:
    config = files.config.path if files.config else ""
    flags = {token.content: token.special for token in view.added}
    for id_, token in files.decoder.items():
        at = f"$.added_tokens_decoder.{id_}"
        found = view.id_of(token.content)
        if found != id_:
            yield Place(config, at, f"{token.content!r:.60} = {id_}", _id(found), "tokenizer")
        elif flags.get(token.content, token.special) != token.special:
            special = f"special: {str(flags[token.content]).lower()}"
            yield Place(
                config, at, f"{token.content!r:.60}, special: {str(token.special).lower()}", special, "tokenizer"
            )
    mapped = {token.content for token in files.decoder.values()}
    for token in view.added if mapped else ():
        if token.content not in mapped:
            yield Place(config, "$.added_tokens_decoder", f"no {token.content!r:.60}", _id(token.id), "tokenizer")
    if files.added_tokens is not None:
        path = files.added_tokens.path
        for name, number in files.added_tokens.mapping.items():
            if view.id_of(name) != number:
                yield Place(path, f"$[{name!r:.60}]", shown(number, 20), _id(view.id_of(name)), "tokenizer")
    if files.special_tokens_map is not None:
        for role, value in files.special_tokens_map.mapping.items():
            text, other = content(value), content(files.settings.get(role))
            if text and other and text != other:
                yield Place(
                    files.special_tokens_map.path, f"$.{role}"[:60], f"{text!r:.60}", f"{other!r:.60}", "tokenizer"
                )


def _id(id_: int | None) -> str:
    return "no such token in tokenizer.json" if id_ is None else f"{id_} in tokenizer.json"


def _ids(checkpoint: Checkpoint, view: Tokenizer, ledger: Ledger) -> None:
    """Ids that two texts share, and ids left out among the added tokens unless the base leaves them out, too."""
    fact = "audit.tokenizer.shared_ids"
    shared = list(_shared(view))
    gaps = _gaps(view)
    base = tokenizer_files(checkpoint.base).usable if checkpoint.base else None
    if gaps and base is None and not shared:
        ledger.unknown(
            fact,
            f"Ids {gaps[0]} ff. among the added tokens are free; only the base can say whether on purpose.",
            f"附加 token 之间的编号 {gaps[0]} 等空缺；是否有意只有基座能说明。",
        )
        return
    known = set(_gaps(base)) if base else set(gaps)
    lost = (Place(view.path, "$.added_tokens", f"id {id_} is left out", "", "base") for id_ in gaps if id_ not in known)
    ledger.count(fact, [*shared, *lost])


def _shared(view: Tokenizer) -> Iterator[Place]:
    """Ids of two pieces, of two added tokens, or of an added token and another piece."""
    by_id: dict[int, str] = {}
    for texts in (view.vocab, view.added_ids):
        for text, id_ in texts.items():
            other = by_id.setdefault(id_, text)
            if other != text:
                yield Place(view.path, f"id {id_}", f"{other!r:.40}, {text!r:.40}", "one text for an id")
    for token in view.added:
        own = view.vocab.get(token.content, token.id)
        if own != token.id:
            yield Place(
                view.path, "$.added_tokens", f"{token.content!r:.60} = {token.id}", f"{own}, as in the vocabulary"
            )


def _gaps(view: Tokenizer) -> list[int]:
    """Free ids between the vocabulary and the last added token; no more than there are added tokens are looked at."""
    taken = {token.id for token in view.added} | set(view.vocab.values())
    start = max(view.vocab.values(), default=-1) + 1
    last = max((token.id for token in view.added), default=-1)
    return [id_ for id_ in range(start, min(last, start + 100_000)) if id_ not in taken][:1000]


def _round_trip(view: Tokenizer, ledger: Ledger) -> None:
    lossy = is_lossy_by_design(view)
    ledger.fact("audit.tokenizer.lossy_by_design", lossy)
    found = None if lossy else losses(view)
    if found is not None:
        ledger.count(
            "audit.tokenizer.losses", (Place(view.path, at, seen, wanted, "format") for at, seen, wanted in found)
        )
    else:
        ledger.unknown(
            "audit.tokenizer.losses",
            "The tokenizer is neither byte-level nor marks spaces; whether decoding gives the text back must be tried.",
            "该分词器既非字节级也不标记空格；解码能否还原文本需要实际试验。",
        )


def _against_base(checkpoint: Checkpoint, view: Tokenizer, ledger: Ledger) -> None:
    fact = "audit.tokenizer.changed_parts"
    base = tokenizer_files(checkpoint.base).usable if checkpoint.base else None
    if base is None or tokenizer_files(checkpoint).parsed is not None:
        ledger.unknown(
            fact,
            "There are no two files tokenizer.json, the base's and its own.",
            "没有可供比较的基座与自身 tokenizer.json。",
        )
        return
    declared = checkpoint.intent.expected_changes.vocab
    changed = list(_changes(view, base, extended=declared == "extended"))
    if changed and declared in (None, "changed"):
        where = ", ".join(place.at for place in changed[:3])
        ledger.unknown(
            fact,
            f"The tokenizer differs from the base's ({where}); the intent does not say that it stays unchanged.",
            f"分词器与基座不同（{where}）；意图文件未声明其保持不变。",
        )
        return
    ledger.count(fact, changed)


def _changes(view: Tokenizer, base: Tokenizer, extended: bool) -> Iterator[Place]:
    def place(at: str, observed: str, expected: str) -> Place:
        return Place(view.path, at, observed[:120], expected[:120], "base")

    if view.model != base.model:
        yield place("$.model.type", view.model, base.model)
    if view.vocab != base.vocab:
        odd = next((text for text, id_ in base.vocab.items() if view.vocab.get(text) != id_), None)
        if odd is not None:
            yield place("$.model.vocab", f"{odd!r:.60} = {shown(view.vocab.get(odd))}", f"{base.vocab[odd]}")
        elif not extended:
            yield place("$.model.vocab", f"{len(view.vocab)} pieces", f"{len(base.vocab)} pieces")
    if view.merges[: len(base.merges)] != base.merges or (not extended and len(view.merges) != len(base.merges)):
        yield place("$.model.merges", f"{len(view.merges)} merges", f"the {len(base.merges)} merges of the base")
    for text, id_ in base.added_ids.items():
        if view.id_of(text) != id_:
            yield place("$.added_tokens", f"{text!r:.60} = {shown(view.id_of(text))}", f"{id_}")
    if not extended:
        for text, id_ in view.added_ids.items():
            if base.id_of(text) is None:
                yield place("$.added_tokens", f"{text!r:.60} = {id_}", "no such token")
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        ours, theirs = canonical(name, view.parts.get(name)), canonical(name, base.parts.get(name))
        if ours != theirs:
            yield place(f"$.{name}", written(ours), written(theirs))
    if options(view) != options(base):
        yield place("$.model", written(options(view)), written(options(base)))


def _padding(checkpoint: Checkpoint, files: TokenizerFiles, ledger: Ledger) -> None:
    """Whether padding uses the token that ends an answer, and whether labels are masked by its id."""
    chat = checkpoint.intent.chat
    if chat is not None and chat.loss_masks_padding_by_token_id is not None:
        ledger.fact("audit.tokenizer.padding_masked_by_id", chat.loss_masks_padding_by_token_id)
    else:
        ledger.unknown(
            "audit.tokenizer.padding_masked_by_id",
            "Padding uses the token that ends an answer; the intent does not say whether labels were masked by its id.",
            "填充与回答结束符同号；意图文件未说明训练是否按编号屏蔽填充。",
        )
    pad, end = files.named.get("pad_token"), end_of_turn(checkpoint)
    text = end.text if end is not None else files.named.get("eos_token")
    if text is None:
        ledger.unknown(
            "audit.tokenizer.pad_ends_turn", "No token is known to end an answer.", "未知以哪个 token 结束回答。"
        )
        return
    path = _config_path(files)
    same = pad == text
    ledger.fact(
        "audit.tokenizer.pad_ends_turn",
        same,
        [Place(path, "$.pad_token", f"{pad!r:.60}", "another token than the one that ends an answer", "template")],
    )


def _limits(checkpoint: Checkpoint, files: TokenizerFiles, view: Tokenizer, ledger: Ledger) -> None:
    """Truncation and padding written into tokenizer.json that cut or fill inputs behind the server's back."""
    generates = ledger.value("audit.generates") is True
    longest = _longest(checkpoint, files)
    places: list[Place] = []
    cut, fill = view.parts.get("truncation"), view.parts.get("padding")
    if isinstance(cut, dict):
        limit = cut.get("max_length")
        short = isinstance(limit, int) and longest is not None and limit < longest
        if generates or short:
            wanted = "null" if generates else f"at least {longest}"
            places.append(Place(view.path, "$.truncation.max_length", shown(limit, 20), wanted, "config"))
    if isinstance(fill, dict) and generates:
        places.append(Place(view.path, "$.padding", written(fill.get("strategy"), 60), "null", "config"))
    ledger.count("audit.tokenizer.baked_limits", places)


def _longest(checkpoint: Checkpoint, files: TokenizerFiles) -> int | None:
    """The input length that is declared: of sentence-transformers, else of the tokenizer, else of the model."""
    sentence = checkpoint.json(files.prefix + "sentence_bert_config.json")
    config = checkpoint.config.mapping if checkpoint.config else {}
    declared = (
        sentence.mapping.get("max_seq_length") if sentence else None,
        files.settings.get("model_max_length"),
        config.get("max_position_embeddings"),
    )
    return next((n for n in declared if isinstance(n, int) and 0 < n < 10**9), None)
