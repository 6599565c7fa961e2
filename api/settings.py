"""What the service can be told, in one frozen object; every setting can come from the environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from engine.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "TRAINTRIAGE_"
KB = 1024
MB = 1024 * 1024


class SettingsError(ValueError):
    """A setting that cannot be used; the text says which variable, and what is wrong with it."""


def _default_store() -> str:
    return f"sqlite:///{Path.home() / '.local' / 'share' / 'traintriage' / 'store.db'}"


def _names(value: Any) -> Any:
    return tuple(name.strip().lower() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


def _folders(value: Any) -> Any:
    return tuple(Path(name) for name in value.split(os.pathsep) if name.strip()) if isinstance(value, str) else value


class Settings(Frozen):
    """Settings of the service. ``TRAINTRIAGE_<NAME>`` sets the one of that name."""

    host: str = Field("127.0.0.1", description="Address to listen on; only loopback is accepted.")
    port: int = Field(8080, ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    allowed_hosts: Annotated[tuple[str, ...], BeforeValidator(_names)] = Field(
        (), description="Names a Host header may have beside those of loopback, with commas between them."
    )
    workers: int = Field(1, ge=1, le=64, description="Processes that answer requests.")
    knowledge: Path | None = Field(None, description="Folder of the knowledge base; default: the bundled one.")
    store_url: Annotated[str, Field(pattern=r"^(sqlite:///|postgresql(\+asyncpg)?://).")] = Field(
        default_factory=_default_store,
        description="Where cases are kept: sqlite:///PATH, or postgresql://USER:PASSWORD@HOST/DATABASE.",
        repr=False,  # it may hold a password
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe log line.")
    max_document_bytes: int = Field(8 * MB, ge=KB, description="Largest JSON body or 'case' part.")
    max_yaml_bytes: int = Field(MB, ge=KB, description="Largest YAML text; it is some 40 times slower to read.")
    max_upload_bytes: int = Field(64 * MB, ge=KB, description="Largest multipart body, files included.")
    max_files: int = Field(64, ge=1, le=1_000, description="Most files in one multipart body.")
    inline_bytes: int = Field(64 * KB, ge=0, description="Larger bodies are read outside the event loop.")
    body_seconds: float = Field(60.0, gt=0, description="Time the body of a request may take to arrive.")
    reading_seconds: float = Field(60.0, gt=0, description="Time one case may take to be read.")
    reading_queue: int = Field(16, ge=1, description="Cases that may wait to be read; more are refused for now.")
    audit_roots: Annotated[tuple[Path, ...], BeforeValidator(_folders)] = Field(
        (), description=f"Folders whose checkpoints may be audited by path, with {os.pathsep!r} between them."
    )
    audit_seconds: float = Field(600.0, gt=0, description="Time one audit may take.")
    audit_queue: int = Field(2, ge=1, description="Audits that may run or wait; more are refused for now.")
    audits_kept: int = Field(1_000, ge=1, description="Most audits kept; the oldest go first.")
    audits_bytes: int = Field(256 * MB, ge=MB, description="Most bytes of kept audits; the oldest go first.")
    validation_seconds: float = Field(60.0, gt=0, description="Time a new knowledge base may take to load.")
    mcp: bool = Field(False, description="Serve the tools for chatbots at /mcp; needs the extra 'mcp'.")
    max_case_bytes: int = Field(256 * MB, ge=MB, description="Most bytes of files in one case.")
    idempotency_seconds: float = Field(86_400.0, gt=0, description="How long answers to a key are kept.")
    idempotency_keys: int = Field(10_000, ge=1, description="Most keys kept; the oldest go first.")
    idempotency_bytes: int = Field(256 * MB, ge=MB, description="Most bytes of kept answers; the oldest go first.")

    @classmethod
    def from_env(cls, environ: Mapping[str, str], **given: Any) -> Settings:
        """Settings from ``TRAINTRIAGE_*`` variables; ``given`` values that are not ``None`` win.

        Raises:
            SettingsError: if a value cannot be used.
        """
        names = {name: PREFIX + name.upper() for name in cls.model_fields}
        values: dict[str, Any] = {name: environ[variable] for name, variable in names.items() if variable in environ}
        values |= {name: value for name, value in given.items() if value is not None}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            name = str(first["loc"][0])
            raise SettingsError(f"{names.get(name, name)}: {first['msg']}") from error
