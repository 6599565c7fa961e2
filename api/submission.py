"""What a request to diagnose carries, whichever of the three media types brought it, and the case in it."""

from __future__ import annotations

import hashlib
import re
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from api import documents
from api.media import FORMATS, MULTIPART, media_type, require_utf8
from api.messages import say
from api.multipart import read_form
from api.problem import Problem, invalid_input, too_large
from api.validation import FieldError, explain
from engine.model.case import Case

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from collections.abc import Set as AbstractSet

    from starlette.datastructures import FormData
    from starlette.requests import Request

    from api.documents import Format
    from api.settings import Settings

Model = TypeVar("Model", bound=BaseModel)
# Control characters, and marks of direction, which let a name read as another one.
HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


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
        if case.is_empty and self.files and not any(file.path.stat().st_size for file in self.files):
            raise Problem("empty-case", say("empty-files"))
        if case.is_empty and not self.files:
            raise Problem("empty-case", say("nothing"))
        return case


def parse(text: bytes, form: Format, model: type[Model]) -> Model:
    """A checked model from a JSON or YAML text; a number in quotes is no number.

    Raises:
        Problem: 400 if the text cannot be read, 422 if it does not fit ``model``.
    """
    data = documents.load(text, form)
    if not isinstance(data, dict):
        error = FieldError("body", "", say("not-an-object"), say("send-object-with-keys"))
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
    form = _format_of(request, tuple(FORMATS))
    return parse(await request.body(), form, model)


@asynccontextmanager
async def receive(request: Request) -> AsyncIterator[Submission]:
    """The submission of ``request``; its files exist inside the ``async with`` only.

    Raises:
        Problem: 400, 413, 415 or 422.
    """
    if _media_type(request) == MULTIPART:
        form = await read_form(request)
        with TemporaryDirectory(prefix="traintriage-") as folder:
            yield await _from_form(form, Path(folder), request.app.state.settings)
        return
    kind = _format_of(request, (*FORMATS, MULTIPART))
    yield Submission(await request.body(), kind)


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
            files.append(await run_in_threadpool(_store, part, folder / str(index), files))
        elif name == "case" and text is None:
            text = await _text_of(part, settings)
            kind = _part_format(part, text)
            if kind == "yaml" and len(text) > settings.max_yaml_bytes:
                raise too_large("yaml-document", settings.max_yaml_bytes)
        else:
            raise invalid_input((_unknown_part(name),))
    return Submission(text or b"", kind, tuple(files))


def _unknown_part(name: str) -> FieldError:
    if name == "case":
        return FieldError("body", "/case", say("case-twice"), say("send-one-case"))
    return FieldError("body", "", say("unknown-part"), say("known-parts"))


async def _text_of(part: UploadFile | str, settings: Settings) -> bytes:
    if isinstance(part, str):
        return part.encode("utf-8", "surrogatepass")
    text = await part.read(settings.max_document_bytes + 1)
    if len(text) > settings.max_document_bytes:
        raise too_large("case-part", settings.max_document_bytes)
    return text


def _part_format(part: UploadFile | str, text: bytes) -> Format:
    declared = (part.content_type or "") if isinstance(part, UploadFile) else ""
    require_utf8(declared)
    return FORMATS.get(media_type(declared)) or documents.sniff(text)


def _store(part: UploadFile | str, path: Path, before: Sequence[StoredFile]) -> StoredFile:
    """Write an upload below the request's own folder, under a name of ours; the sent name is only a label."""
    unnamed = f"file-{len(before) + 1}"
    if isinstance(part, str):
        path.write_text(part, "utf-8", "surrogatepass")
        return StoredFile(unnamed, path)
    with path.open("wb") as target:
        shutil.copyfileobj(part.file, target)
    sent = PurePosixPath(PureWindowsPath(part.filename or "").as_posix()).name
    name = HIDDEN.sub("", sent)[-200:]
    return StoredFile(_label(name or unnamed, {file.name for file in before}), path)


def _label(name: str, taken: AbstractSet[str]) -> str:
    """The name, numbered if it stands for another file already: evidence must say which of the two it is from."""
    numbered = (f"{name} ({number})" for number in count(2))
    return next(label for label in chain((name,), numbered) if label not in taken)


def _media_type(request: Request) -> str:
    return media_type(request.headers.get("content-type", ""))


def _format_of(request: Request, accepted: tuple[str, ...]) -> Format:
    form = FORMATS.get(_media_type(request))
    if form is None:
        shown = ", ".join(kind for kind in accepted if kind in {"application/json", "application/yaml", MULTIPART})
        raise Problem("unsupported-media-type", say("media-type", accepted=shown), headers={"Accept": shown})
    require_utf8(request.headers["content-type"])
    return form
