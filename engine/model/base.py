"""What all pydantic models of the project share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

Lang = Literal["en", "zh"]


class Frozen(BaseModel):
    """An immutable model that refuses unknown keys, so that a misspelt key is an error and not silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Kept(Frozen):
    """A part of the knowledge base. Its validator is built on first use, which for most is within that of the whole."""

    model_config = ConfigDict(defer_build=True)


class Text(Kept):
    """A text for people, in English and Chinese."""

    en: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    zh: Annotated[str, StringConstraints(min_length=1, max_length=2000)]

    def get(self, lang: Lang) -> str:
        return self.zh if lang == "zh" else self.en
