"""What a request to audit carries, checked, and the job that audits it in a process of its own."""

from __future__ import annotations

import datetime
import json
import re
import shutil
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from api.messages import Words, as_is, say
from api.problem import Problem, invalid_input
from api.validation import FieldError
from engine.model.audit import AuditResult
from engine.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.datastructures import FormData

    from engine.audit.decide import Auditor
    from engine.model.base import Lang

PathText = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
LANGUAGES: tuple[Lang, ...] = ("en", "zh")
# Parts of an upload whose files become a folder each; the paths of the intent are relative to that of the evidence.
_FOLDERS = ("files", "base", "evals", "baseline", "evidence")
_TEXTS = ("intent", "policy")
_MAX_DEPTH = 16
_MAX_NAME_BYTES = 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class AuditRequest(Frozen):
    """A checkpoint on the disk of the service. Paths are absolute, or relative to a folder in AUDIT_ROOTS."""

    path: PathText = Field(description="Folder of the checkpoint.")
    intent: PathText | dict[str, Any] | None = Field(
        None, description="The declared intent, or the path of its file. Paths in an intent that is given here are "
        "relative to the folder that holds the checkpoint."
    )  # fmt: skip
    base: PathText | None = Field(None, description="Folder of the checkpoint it was trained from.")
    evals: PathText | None = Field(None, description="Results of its evaluations, a file or a folder.")
    baseline: PathText | None = Field(None, description="The same of what it is compared with.")
    policy: str | None = Field(None, max_length=200, description="Id of a policy; else the one that fits best.")


class Audit(AuditResult):
    """A kept audit: its id for ``GET /v1/audits/{id}``, and the result."""

    id: str


@dataclass(frozen=True)
class AuditJob:
    """Audit a checkpoint; a job for the auditing process, to which it is passed.

    Args:
        id: of the audit.
        paths: ``path``, ``base``, ``evals``, ``baseline``, and ``intent`` if that is a file, by these names.
        roots: the folders that all of them must lie in.
        written: the intent, if it is no file.
        beside: what the paths of a written intent are relative to; by default the folder that holds the checkpoint.
        cached: whether scans of unchanged files are kept.
    """

    id: str
    paths: Mapping[str, str]
    roots: tuple[Path, ...]
    policy: str | None = None
    written: bytes | None = None
    beside: Path | None = None
    cached: bool = False

    def __call__(self, auditor: Auditor, /) -> dict[Lang, bytes]:
        """The audit as JSON, in each language.

        Raises:
            Problem: 403 for a path outside of the roots, 422 for what cannot be audited.
        """
        from engine.audit.decide import UnknownPolicyError
        from engine.audit.folder import UnreadableError
        from engine.audit.given import NothingToAuditError, OutsideError
        from engine.audit.intent import IntentError

        try:
            return self._audited(auditor)
        except OutsideError as error:
            raise Problem("outside-roots", say("outside-roots")) from error
        except NothingToAuditError as error:
            raise _wrong("/path", say("empty-folder"), say("send-checkpoint")) from error
        except UnreadableError as error:
            raise _wrong("", say("not-there"), say("send-there")) from error
        except IntentError as error:
            raise _wrong("/intent", as_is(str(error)[:500]), say("as-said")) from error
        except UnknownPolicyError as error:
            known = ", ".join(sorted(auditor.knowledge.policies))
            raise _wrong("/policy", say("no-policy"), say("one-of", limit=known)) from error

    def _audited(self, auditor: Auditor) -> dict[Lang, bytes]:
        from engine.audit.given import WrittenIntent, checkpoint_of
        from engine.knowledge.cache import cache_folders

        paths = {name: self._located(name, text) for name, text in self.paths.items()}
        directory = paths["path"]
        declared: Path | WrittenIntent | None = paths.get("intent")
        if self.written is not None:
            declared = WrittenIntent(self.written, self.beside or self._around(directory))
        checkpoint = checkpoint_of(
            directory,
            declared,
            paths.get("base"),
            paths.get("evals"),
            paths.get("baseline"),
            cache_folders()[0] / "scans" if self.cached else None,
            within=self.roots,
        )
        today = datetime.datetime.now(datetime.UTC).date()
        ledger = auditor.look(checkpoint)
        results = {
            lang: auditor.judge(checkpoint, ledger, policy=self.policy, today=today, lang=lang) for lang in LANGUAGES
        }
        return {lang: Audit(id=self.id, **dict(result)).model_dump_json().encode() for lang, result in results.items()}

    def _around(self, directory: Path) -> Path:
        """The folder that holds the checkpoint; a root itself stands for its own, as nothing may be read beside it."""
        real = directory.resolve()
        return real if any(real == root.resolve() for root in self.roots) else real.parent

    def _located(self, name: str, text: str) -> Path:
        """The path, a relative one below the first root that has it; checked, so that a wrong one can be named."""
        from engine.audit.given import inside

        try:
            path = next((root / text for root in self.roots if (root / text).exists()), self.roots[0] / text)
            real = inside(path, self.roots)  # before anything is said of what is there and what is not
            usable = real.is_dir() if name in ("path", "base") else real.exists()
        except OSError:  # a name that is too long, a folder that may not be entered
            usable = False
        if not usable:
            raise _wrong(f"/{name}", say("not-there"), say("send-there"))
        return path


def job_for(request: AuditRequest, audit_id: str, roots: tuple[Path, ...]) -> AuditJob:
    """The job for a checkpoint that lies on the disk of the service.

    Raises:
        Problem: 403 if no folder is open to callers.
    """
    if not roots:
        raise Problem("outside-roots", say("no-roots"))
    named = {name: getattr(request, name) for name in ("path", "intent", "base", "evals", "baseline")}
    return AuditJob(
        id=audit_id,
        paths={name: text for name, text in named.items() if isinstance(text, str)},
        roots=roots,
        policy=request.policy,
        written=json.dumps(request.intent, ensure_ascii=False).encode() if isinstance(request.intent, dict) else None,
        cached=True,
    )


@asynccontextmanager
async def uploaded(form: FormData, audit_id: str) -> AsyncIterator[AuditJob]:
    """The job for a checkpoint that was sent; its files exist inside the ``async with`` only.

    Raises:
        Problem: 422 for a part or a file name that cannot be used.
    """
    with TemporaryDirectory(prefix="traintriage-") as name:
        yield await run_in_threadpool(_unpacked, form, Path(name), audit_id)


def _unpacked(form: FormData, root: Path, audit_id: str) -> AuditJob:
    texts: dict[str, bytes] = {}
    for part, value in form.multi_items():
        if part in _TEXTS and part not in texts:
            texts[part] = value.file.read() if isinstance(value, UploadFile) else value.encode()
        elif part in _FOLDERS and isinstance(value, UploadFile):
            _store(value, root / part, part)
        else:
            raise _wrong("", say("unknown-part"), say("known-audit-parts"))
    if not (root / "files").is_dir():
        raise _wrong("/files", say("missing"), say("send-checkpoint"))
    (root / "evidence").mkdir(exist_ok=True)
    folders = {"path": "files", "base": "base", "evals": "evals", "baseline": "baseline"}
    return AuditJob(
        id=audit_id,
        paths={name: str(root / folder) for name, folder in folders.items() if (root / folder).is_dir()},
        roots=(root,),
        policy=texts["policy"].decode(errors="replace") if "policy" in texts else None,
        written=texts.get("intent"),
        beside=root / "evidence",
    )


def _store(part: UploadFile, folder: Path, name: str) -> None:
    """Write an upload under the relative name it was sent with, which never leads out of ``folder``."""
    path = PurePosixPath((part.filename or "").replace("\\", "/"))
    usable = (
        path.parts
        and not path.is_absolute()
        and len(path.parts) <= _MAX_DEPTH
        and not _CONTROL.search(str(path))
        and all(p != ".." and len(p.encode(errors="replace")) <= _MAX_NAME_BYTES for p in path.parts)
    )
    if not usable:
        raise _wrong(f"/{name}", say("bad-file-name"), say("send-relative-name"))
    target = folder / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as stream:
            shutil.copyfileobj(part.file, stream)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise _wrong(f"/{name}", say("file-twice"), say("send-file-once")) from error


def _wrong(pointer: str, reason: Words, send: Words) -> Problem:
    return invalid_input((FieldError("body", pointer, reason, send),))
