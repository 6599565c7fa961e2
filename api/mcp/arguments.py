"""The arguments of the tools: their types, limits, and what a model is told of each."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from api.cases.events import State
from engine.model.base import Lang
from engine.model.case import Contrast, Observation, SeriesInput
from engine.model.kb import Paradigm


def _lines(value: Any) -> Any:
    return "\n".join(map(str, value)) if isinstance(value, list) else value


CaseIdArgument = Annotated[str, Field(max_length=64, description="Id of the case, from the result of diagnose.")]
OpenCaseArgument = Annotated[
    str | None, Field(max_length=64, description="Add this to a case that is open, instead of opening one.")
]
CauseArgument = Annotated[
    str, Field(max_length=200, description='Id of a cause, such as "numerics/fp16-activation-overflow".')
]
LangArgument = Annotated[Lang, Field(description="Language of the texts: that of the person you talk to.")]
DetailArgument = Annotated[bool, Field(description="true: up to 8 kB of result instead of 2 kB.")]

QueryArgument = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="Words of what you want to state, English or Chinese, or the beginning of an id: "
        '"gradient norm", "loss scale", "tokenizer eos", "amp".',
    ),
]
KindArgument = Annotated[
    Literal["fact", "finding", "cause"] | None, Field(description="Only this kind; null: facts and findings.")
]
LimitArgument = Annotated[int, Field(ge=1, le=50, description="Most entries.")]

ReportArgument = Annotated[
    str | None,
    Field(
        max_length=200_000,
        description="What is wrong, in the person's own words, English or Chinese. Do not add causes that you suspect: "
        "they would be read as said by the person.",
    ),
]
ObservationsArgument = Annotated[
    list[Observation] | None,
    Field(
        max_length=2_000,
        description="Numbers and settings under the names they have at the source, units included, for what you have "
        'no id for: [{"name": "per_device_train_batch_size", "value": 4}, {"name": "memory", "value": "79 GB"}].',
    ),
]
LogArgument = Annotated[
    str,
    BeforeValidator(_lines),
    Field(
        description="Log lines word for word, with line ends between them. The part around the first error says more "
        "than the last lines. Do not shorten, translate or sum up lines.",
    ),
]
SeriesArgument = Annotated[
    list[SeriesInput] | None,
    Field(
        max_length=500,
        description='Metrics over steps: [{"name": "loss", "steps": [100, 200], "values": [2.31, "nan"]}]. A trend '
        'needs some ten points. Not-a-number is "nan", infinity "inf", a gap null.',
    ),
]
FilesArgument = Annotated[
    dict[str, Any] | None,
    Field(
        max_length=200,
        description="Pieces of files by name, as text or as keys: "
        '{"config.json": {"vocab_size": 32000}, "train.yaml": "lr: 3e-4"}.',
    ),
]
FactsArgument = Annotated[
    dict[str, Any] | None,
    Field(
        max_length=2_000,
        description="Facts and findings by id, as list_facts gives them: "
        '{"run.precision": "fp16", "amp.loss_scale": 1, "loss.nan": true}. A number in the unit of the fact, without '
        "the unit; a bool as true or false; a choice as one of its values. A finding takes true (seen) or false "
        "(looked for and not there). Leave out what is not known: what is missing is unknown, which never counts as "
        "false.",
    ),
]
ContrastArgument = Annotated[
    list[Contrast] | None,
    Field(
        max_length=100,
        description="Works one way and fails the other: "
        '[{"dimension": "version", "good": "2.17", "bad": "2.20"}]. Dimensions: batch, data, format, length, library, '
        "model, precision, ranks, serving, version.",
    ),
]
ParadigmArgument = Annotated[Paradigm | None, Field(description="Kind of training, if it is known.")]

AskedArgument = Annotated[
    str | None, Field(max_length=200, description="Id of the entry of next_checks that is answered.")
]
FindingsArgument = Annotated[
    dict[str, State] | None,
    Field(
        max_length=200,
        description='What was found, by the ids in `asks`: {"amp.steps-skipped": "present"}. The id of a question is '
        "that of its finding: yes is present, no is absent. absent means that somebody looked and it is not so. "
        "unknown takes an earlier answer back.",
    ),
]
UnknownArgument = Annotated[
    list[Annotated[str, Field(max_length=200)]] | None,
    Field(
        max_length=50,
        description="Ids of checks and questions that nobody can answer: they are not asked again, and count neither "
        "way.",
    ),
]

AuditIdArgument = Annotated[str | None, Field(max_length=64, description="Id of an audit that was made.")]
CheckpointArgument = Annotated[
    str | None,
    Field(
        max_length=4_096,
        description="Folder of a checkpoint on the disk of the service, within the folders that it allows. It is "
        "audited now, which may take minutes.",
    ),
]
IntentArgument = Annotated[
    dict[str, Any] | str | None,
    Field(
        description="What the release is meant to be, or the path of the file that says so: "
        '{"paradigm": "sft", "release_kind": "downstream", "dtype": "bfloat16", "base_model": "org/name"}. What is not '
        "declared cannot be confirmed."
    ),
]
BaseArgument = Annotated[str | None, Field(max_length=4_096, description="Folder of what it was trained from.")]
PolicyArgument = Annotated[
    str | None, Field(max_length=200, description="Id of a policy; default: the one that fits best.")
]

ConfirmedCauseArgument = Annotated[
    str | None, Field(max_length=200, description="Id of the confirmed cause; null if no cause of the list is it.")
]
OtherArgument = Annotated[
    str, Field(max_length=10_000, description="The cause in words, where no cause of the list is it.")
]
ConfirmedByArgument = Annotated[
    str, Field(min_length=1, max_length=10_000, description="The check or change that proved it, in words.")
]
RemedyArgument = Annotated[str, Field(max_length=10_000, description="What was done about it.")]
NoteArgument = Annotated[str, Field(max_length=10_000, description="Anything else worth keeping, for people.")]
