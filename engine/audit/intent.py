"""The declared intent of a release: what the checkpoint shall be, and where the evidence lies.

Every key is optional: what is not declared cannot be confirmed. A key nobody knows is kept and shown, never lost: a
misspelt one leaves its gate without evidence, which is no pass.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from engine.evidence.unreadable import UnreadableTextError
from engine.model.kb import PARADIGM_ALIASES, PARADIGM_NAMES, Paradigm

MAX_INTENT_BYTES = 1 << 20
MAX_DEPTH, MAX_NODES = 32, 100_000
Finite = Annotated[float, Field(allow_inf_nan=False)]
Allowance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class IntentError(ValueError):
    """An intent that cannot be used; the message names the key, what is wrong and what to write."""


class _Part(BaseModel):
    """A mapping whose unknown keys are kept, so that they can be shown."""

    model_config = ConfigDict(frozen=True, extra="allow")


class ExpectedChanges(_Part):
    """What may differ from the base. ``vocab`` and ``rope``: unchanged, or changed on purpose."""

    vocab: Literal["unchanged", "extended", "changed"] | None = None
    rope: Literal["unchanged", "changed"] | None = None
    tied_embeddings: bool | None = None
    config: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()


class Chat(_Part):
    """How the model is talked to; ``serving_path`` says whether a rendered text is encoded once more."""

    end_of_turn_token: str | None = None
    training_template_sha256: str | None = None
    loss_masks_padding_by_token_id: bool | None = None
    serving_path: Literal["template_ids", "template_text_then_tokenizer"] | None = None
    stop_tokens: tuple[str, ...] = ()
    tools: bool | None = None


class EmbeddingInterface(_Part):
    """What a vector is made by."""

    pooling: str | None = None
    normalize: bool | None = None
    dimension: int | None = None
    prompts: dict[str, str] | None = None
    similarity: str | None = None
    must_match_base: bool | None = None
    max_seq_length: int | None = None


class Index(_Part):
    """The document index that is searched with this model."""

    metadata: str | None = None
    rebuilt_with_this_model: bool | None = None
    query_and_document_encoder: str | None = None
    corpus_count: int | None = None
    trained_pair: dict[str, str] | None = None


class Target(_Part):
    """A metric the run was made for."""

    task: str
    metric: str
    min_value: Finite | None = None
    min_gain_over_baseline: Finite | None = None


class Neighbour(_Part):
    """A metric that must not fall."""

    task: str
    metric: str
    max_drop_in_stderr_of_difference: Allowance | None = None
    max_drop: Allowance | None = None


class EvidenceFiles(_Part):
    """Where the evidence lies, relative to the intent."""

    candidate: str | None = None
    baseline: str | None = None
    candidate_samples: str | None = None
    baseline_samples: str | None = None
    generations: str | None = None
    failure_set: str | None = None
    trainer_state: str | None = None
    training_data: str | None = None
    eval_documents: str | None = None


class Stages(_Part):
    """Logs of the seed checklist's first three stages."""

    single_batch_overfit: str | None = None
    small_run: str | None = None
    scale_up: tuple[str, ...] = ()


def _paradigm(value: object) -> object:
    return PARADIGM_ALIASES.get(value, value) if isinstance(value, str) else value


def _day(value: object) -> object:
    return value.date() if isinstance(value, datetime.datetime) else value


class Waiver(_Part):
    """A failure that somebody answers for, until a day."""

    gate: str
    reason: Annotated[str, Field(min_length=1)]
    by: Annotated[str, Field(min_length=1)]
    until: Annotated[datetime.date, BeforeValidator(_day)]


class Intent(_Part):
    """The whole intent; see the class's parts. ``license``, ``base_model``: what the model card must name."""

    paradigm: Annotated[Paradigm | None, BeforeValidator(_paradigm)] = None
    release_kind: Literal["downstream", "index_rebuild", "resume", "internal"] | None = None
    license: str | None = None
    base_model: str | None = None
    base_revision: str | None = None
    base_reference: str | None = None
    dtype: str | None = None
    formats: tuple[str, ...] = ()
    serving: dict[str, Any] = {}
    custom_code: bool | None = None
    schedule: str | None = None
    early_stopping: bool | None = None
    expected_changes: ExpectedChanges = ExpectedChanges()
    chat: Chat | None = None
    embedding_interface: EmbeddingInterface | None = None
    index: Index | None = None
    targets: tuple[Target, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    evidence: EvidenceFiles = EvidenceFiles()
    stages: Stages | None = None
    waivers: tuple[Waiver, ...] = ()
    run: dict[str, Any] = {}
    policy: str | None = None

    def not_understood(self) -> list[str]:
        """Paths of the keys that nothing reads, sorted."""
        return sorted(_extra(self, ""))


def _extra(part: BaseModel, prefix: str) -> list[str]:
    found = [prefix + name for name in part.model_extra or ()]
    for name in type(part).model_fields:
        value = getattr(part, name)
        for index, item in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(item, BaseModel):
                at = f"{prefix}{name}[{index}]." if isinstance(value, tuple) else f"{prefix}{name}."
                found += _extra(item, at)
    return found


def parse_intent(content: bytes, name: str = "intent") -> Intent:
    """An intent from YAML or JSON.

    Raises:
        IntentError: if it is no mapping, or a known key has a value of the wrong kind.
    """
    from engine.evidence.lenient_yaml import load

    if len(content) > MAX_INTENT_BYTES:
        raise IntentError(f"{name}: longer than {MAX_INTENT_BYTES:,} bytes")
    try:
        data = load(content.decode("utf-8-sig"), MAX_DEPTH, MAX_NODES)
    except UnreadableTextError as error:
        raise IntentError(f"{name}: {error.where or 'the text'}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise IntentError(f"{name}: not YAML or JSON: {str(error)[:200] or 'nested too deeply'}") from None
    if data is None:
        return Intent()
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise IntentError(f"{name}: an intent is a mapping with keys such as paradigm, release_kind, targets")
    try:
        return Intent.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise IntentError(f"{name}: {where}: {_reason(first['loc'], first['msg'])}") from None


def _reason(where: tuple[int | str, ...], message: str) -> str:
    """What pydantic says; of a paradigm also the names that stand for one."""
    if where != ("paradigm",):
        return message
    return f"it is none of {', '.join(PARADIGM_NAMES)}"
