"""What a request to diagnose carries, whichever of the three media types brought it, and the case in it."""

from __future__ import annotations

import hashlib
import re
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from api import documents
from api.problem import Problem, invalid_input, too_large
from api.validation import FieldError, explain
from engine.model.case import Case

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from api.documents import Format
    from api.settings import Settings

Model = TypeVar("Model", bound=BaseModel)
MULTIPART = "multipart/form-data"
_FORMATS: dict[str, Format] = {
    "application/json": "json",
    "application/yaml": "yaml",
    "application/x-yaml": "yaml",
    "text/yaml": "yaml",
    "text/x-yaml": "yaml",
}
_NAMED_FILE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class StoredFile:
    """An uploaded file: the name it was sent under, and where it lies for the time of the request."""

    name: str
    path: Path


@dataclass(frozen=True)
class Submission:
    """The text of a case document (maybe empty) and the files sent with it; can be passed to another process."""

    text: bytes
    form: Format
    files: tuple[StoredFile, ...] = ()

    def case(self) -> Case:
        """Parse and check the document.

        Raises:
            Problem: 400 if it cannot be read or the case is empty, 422 if it does not fit.
        """
        case = parse(self.text, self.form, Case) if self.text.strip() else Case()
        if case.is_empty and not self.files:
            raise Problem(
                "empty-case",
                "There is nothing to diagnose. Send at least one of: report (what happened, in your words), "
                "observations, log, series, files, facts, contrast; or upload files as multipart/form-data.",
            )
        return case


def parse(text: bytes, form: Format, model: type[Model]) -> Model:
    """A checked model from a JSON or YAML text; a number in quotes is no number.

    Raises:
        Problem: 400 if the text cannot be read, 422 if it does not fit ``model``.
    """
    data = documents.load(text, form)
    if not isinstance(data, dict):
        error = FieldError("body", "", "the document is not an object", "Send an object with keys.")
        raise invalid_input((error,))
    try:
        return model.model_validate(data, strict=True)
    except ValidationError as error:
        raise invalid_input(explain(error.errors(include_input=False, include_url=False), model)) from error


async def read_model(request: Request, model: type[Model]) -> Model:
    """The body of ``request``, JSON or YAML, as ``model``.

    Raises:
        Problem: 400, 413, 415 or 422.
    """
    form = _format_of(request, tuple(_FORMATS))
    text = await request.body()
    _check_yaml_size(text, form, _settings(request))
    return parse(text, form, model)


@asynccontextmanager
async def receive(request: Request) -> AsyncIterator[Submission]:
    """The submission of ``request``; its files exist inside the ``async with`` only.

    Raises:
        Problem: 400, 413, 415 or 422.
    """
    settings = _settings(request)
    if _media_type(request) == MULTIPART:
        form = await read_form(request)
        with TemporaryDirectory(prefix="traintriage-") as folder:
            yield await _from_form(form, Path(folder), settings)
        return
    kind = _format_of(request, (*_FORMATS, MULTIPART))
    text = await request.body()
    _check_yaml_size(text, kind, settings)
    yield Submission(text, kind)


async def read_form(request: Request) -> FormData:
    """The parts of a multipart request, with caps on their number and on the size of those in memory.

    Raises:
        Problem: 400 ``bad-multipart`` or 413 ``too-large``.
    """
    settings = _settings(request)
    try:
        return await request.form(
            max_files=settings.max_files,
            max_fields=settings.max_files + 1,
            max_part_size=settings.max_document_bytes,
        )
    except HTTPException as error:
        if error.detail.startswith("Too many"):
            raise Problem(
                "too-large", f"A multipart body may have at most {settings.max_files} files. Pack them together."
            ) from error
        if "exceeded maximum size" in error.detail:
            raise too_large("A part that is not a file", settings.max_document_bytes) from error
        raise Problem("bad-multipart", "The body does not follow the boundary that its Content-Type names.") from error
    except (UnicodeDecodeError, LookupError, ValueError) as error:
        raise Problem("bad-multipart", "The header of a part, or the charset it names, cannot be read.") from error


async def content_digest(request: Request) -> str:
    """SHA-256 of what a body says: for multipart of its parts, so that another boundary is no other request."""
    digest = hashlib.sha256(_media_type(request).encode())
    if _media_type(request) != MULTIPART:
        digest.update(await request.body())
        return digest.hexdigest()
    for name, part in (await read_form(request)).multi_items():
        if isinstance(part, UploadFile):
            content = await run_in_threadpool(_file_digest, part)
            digest.update(repr((name, part.filename, part.content_type, content)).encode())
        else:
            digest.update(repr((name, part)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _file_digest(part: UploadFile) -> str:
    digest = hashlib.file_digest(part.file, "sha256").hexdigest()  # type: ignore[arg-type]
    part.file.seek(0)
    return digest


async def _from_form(form: FormData, folder: Path, settings: Settings) -> Submission:
    text: bytes | None = None
    kind: Format = "json"
    files: list[StoredFile] = []
    for index, (name, part) in enumerate(form.multi_items()):
        if name == "files":
            files.append(await run_in_threadpool(_store, part, folder / str(index), len(files) + 1))
        elif name == "case" and text is None:
            text = await _text_of(part, settings)
            kind = _part_format(part, text)
            _check_yaml_size(text, kind, settings)
        else:
            raise invalid_input((_unknown_part(name),))
    return Submission(text or b"", kind, tuple(files))


def _unknown_part(name: str) -> FieldError:
    if name == "case":
        return FieldError("body", "/case", "the part 'case' stands twice", "Send one case.")
    return FieldError(
        "body", "", "a part has an unknown name", "Parts are 'case' (once, JSON or YAML) and 'files' (any number)."
    )


async def _text_of(part: UploadFile | str, settings: Settings) -> bytes:
    if isinstance(part, str):
        return part.encode("utf-8", "surrogatepass")
    text = await part.read(settings.max_document_bytes + 1)
    if len(text) > settings.max_document_bytes:
        raise too_large("The part 'case'", settings.max_document_bytes)
    return text


def _part_format(part: UploadFile | str, text: bytes) -> Format:
    declared = part.content_type if isinstance(part, UploadFile) else None
    return _FORMATS.get((declared or "").split(";")[0].strip().lower()) or documents.sniff(text)


def _store(part: UploadFile | str, path: Path, number: int) -> StoredFile:
    """Write an upload below the request's own folder, under a name of ours; the sent name is only a label."""
    if isinstance(part, str):
        path.write_text(part, "utf-8", "surrogatepass")
        return StoredFile(f"file-{number}", path)
    with path.open("wb") as target:
        shutil.copyfileobj(part.file, target)
    sent = PurePosixPath(PureWindowsPath(part.filename or "").as_posix()).name
    name = "".join(_NAMED_FILE.findall(sent))[-200:]
    return StoredFile(name or f"file-{number}", path)


def _check_yaml_size(text: bytes, form: Format, settings: Settings) -> None:
    if form == "yaml" and len(text) > settings.max_yaml_bytes:
        raise too_large("A YAML document", settings.max_yaml_bytes)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


def _format_of(request: Request, accepted: tuple[str, ...]) -> Format:
    form = _FORMATS.get(_media_type(request))
    if form is None:
        shown = [kind for kind in accepted if kind in {"application/json", "application/yaml", MULTIPART}]
        raise Problem(
            "unsupported-media-type",
            f"Send the body with one of these Content-Types: {', '.join(shown)}.",
            headers={"Accept": ", ".join(shown)},
        )
    return form


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings
