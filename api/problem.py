"""The kinds of problems there are (RFC 9457), and the exception that carries one; knows no web framework."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from api.validation import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Kind:
    """A kind of problem: its HTTP status, and what its page at ``/problems/<slug>`` says."""

    slug: str
    status: int
    title: str
    meaning: str


_KINDS = (
    Kind(
        "bad-json",
        400,
        "The JSON cannot be read",
        "The body is not JSON. NaN, Infinity and -Infinity are accepted as numbers; everything else follows "
        "RFC 8259. The detail names line and column. A key may stand only once in an object, because one of "
        "two values would be lost.",
    ),
    Kind(
        "bad-yaml",
        400,
        "The YAML cannot be read",
        "The text is not YAML that this service reads: one document of plain mappings, lists, texts and "
        "numbers, without anchors, aliases and tags. The detail names the line.",
    ),
    Kind(
        "bad-multipart",
        400,
        "The multipart body cannot be read",
        "The body is not multipart/form-data with the boundary that its Content-Type names. Let the HTTP "
        "client write that header, for instance with curl -F.",
    ),
    Kind(
        "bad-request",
        400,
        "The request cannot be read",
        "The request is malformed.",
    ),
    Kind(
        "empty-case",
        400,
        "The case is empty",
        "There is nothing to diagnose. Send at least one of: report (what happened, in your words), "
        "observations, log, series, files, facts, contrast; or upload files as multipart/form-data. The "
        "paradigm alone is not enough.",
    ),
    Kind(
        "not-found",
        404,
        "Nothing is here",
        "No operation has this path. The operations are listed at /docs and /openapi.json.",
    ),
    Kind(
        "unknown-id",
        404,
        "No object has this id",
        "The knowledge base holds no object of this kind with this id. The list of the kind, for instance "
        "/v1/causes?q=overflow, shows which there are.",
    ),
    Kind(
        "method-not-allowed",
        405,
        "This path has no such method",
        "The path exists, the method does not. The Allow header of the answer names the methods it has.",
    ),
    Kind(
        "key-in-flight",
        409,
        "A request with this key is being answered",
        "A request with the same Idempotency-Key has not been answered yet. Wait a second and send it again: "
        "the answer will then be the stored one.",
    ),
    Kind(
        "too-large",
        413,
        "The request is too large",
        "The body, a part of it or the number of files is beyond the limit that the detail names. Send large "
        "logs and metrics as files in multipart/form-data, and of a very long log the part around the "
        "incident.",
    ),
    Kind(
        "unsupported-media-type",
        415,
        "This kind of body is not understood",
        "The Content-Type names a format that the operation does not read, or is missing.",
    ),
    Kind(
        "invalid-input",
        422,
        "The input does not fit",
        "The request can be read, but does not have the expected form. Each entry of errors names the place "
        "(part and JSON pointer), the reason, and what to send instead.",
    ),
    Kind(
        "too-deep",
        422,
        "The input is nested too deeply",
        "Objects and lists may be nested at most 64 levels. Send a deeply nested file as an upload instead.",
    ),
    Kind(
        "key-reused",
        422,
        "This key belongs to another request",
        "The Idempotency-Key was used before with another body, path or language. Use a new key for a new "
        "request, and the same key only to repeat one.",
    ),
    Kind(
        "internal",
        500,
        "The service failed",
        "This is a fault of the service, not of the request. Report the request_id: the log of the service "
        "holds the details under it.",
    ),
    Kind(
        "not-ready",
        503,
        "The service is not ready",
        "The knowledge base, the engine or the store is not usable at the moment; /readyz says which.",
    ),
    Kind(
        "busy",
        503,
        "Too many cases are waiting to be read",
        "More large cases wait to be read than the service takes. Try again after the seconds in Retry-After.",
    ),
    Kind(
        "reading-timeout",
        503,
        "The case could not be read in time",
        "Reading the uploaded files took longer than allowed. Send fewer or smaller files, for instance the "
        "part of the log around the incident.",
    ),
)
KINDS: Mapping[str, Kind] = MappingProxyType({kind.slug: kind for kind in _KINDS})


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it a problem
    """An answer other than the wanted one; ``detail`` and ``errors`` are shown to the caller."""

    def __init__(
        self,
        slug: str,
        detail: str,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(slug, detail, errors, headers)
        self.kind = KINDS[slug]
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})


def invalid_input(errors: Sequence[FieldError]) -> Problem:
    """The 422 problem for ``errors``."""
    first = errors[0]
    more = f" ({len(errors)} errors in all)" if len(errors) > 1 else ""
    return Problem("invalid-input", f"{first.where}: {first.reason}. {first.send}{more}", errors)


def too_large(what: str, limit: int) -> Problem:
    """The 413 problem for ``what``, which may have ``limit`` bytes."""
    return Problem(
        "too-large",
        f"{what} may have at most {limit:,} bytes. Upload large logs and metrics as files in "
        "multipart/form-data, and of a very long log the part around the incident.",
    )
