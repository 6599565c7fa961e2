"""``/v1/audit-log``: who did what, and how long the log is, so that others can keep a mark of it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from api.access import Scope, caller_of, needs
from api.cases.out import moment
from api.described import problems
from api.store import audit_log
from engine.model.base import Frozen

router = APIRouter(tags=["audit-log"])
_EXAMPLE = {
    "size": 2,
    "hash": "5a9c1f0be2d34c7796b8b1a0f3f3f0f6f1f54ddc6f2d0f6b8f0cbd8f2b9c7d11",
    "rows": [
        {
            "seq": 2,
            "at": "2026-11-30T03:12:44.120Z",
            "actor": "key:3754ade179bb",
            "action": "case.opened",
            "subject": "6f0e3c1b9a2d4e57a1c8f3b2d4e6a790",
            "hash": "5a9c1f0be2d34c7796b8b1a0f3f3f0f6f1f54ddc6f2d0f6b8f0cbd8f2b9c7d11",
        }
    ],
}


class LogParameters(Frozen):
    """Which rows are asked for."""

    subject: str | None = Field(None, max_length=400, description="Only rows about this, for instance a case.")
    limit: int = Field(50, ge=1, le=1_000, description="Most rows, the newest of them.")


class LogRow(Frozen):
    """One change. What was said or sent is not in it, only digests of it are, in the store."""

    seq: int = Field(description="Its number in the log of all tenants.")
    at: str = Field(description="RFC 3339, UTC.")
    actor: str
    action: str
    subject: str
    hash: str


class AuditLogOut(Frozen):
    """The newest rows of the caller's tenant, oldest first, and the head of the whole log."""

    size: int = Field(description="Rows of all tenants together.")
    hash: str = Field(description="Hash of the last row. With the size it marks the log: see traintriage audit-log.")
    rows: list[LogRow]


@router.get(
    "/v1/audit-log",
    operation_id="get_audit_log",
    summary="Read who did what",
    response_model=AuditLogOut,
    dependencies=[needs(Scope.ADMIN)],
    responses={200: {"content": {"application/json": {"example": _EXAMPLE}}}, **problems("invalid-input")},
)
async def get_audit_log(request: Request, query: Annotated[LogParameters, Query()]) -> Response:
    """The newest rows of the tenant, and the size and hash of the whole log: keep them elsewhere as a mark.

    `traintriage audit-log verify` follows the chain; a signed mark also shows rows that were cut off at the end.
    """
    tenant = caller_of(request).tenant

    def work(connection: Any) -> AuditLogOut:
        size, head = audit_log.head(connection)
        rows = audit_log.latest(connection, query.limit, tenant, query.subject)
        told = [
            LogRow(**{name: row[name] for name in ("seq", "actor", "action", "subject", "hash")}, at=moment(row["at"]))
            for row in rows
        ]
        return AuditLogOut(size=size, hash=head, rows=told)

    answer = await request.app.state.store.read(work)
    return Response(answer.model_dump_json(), media_type="application/json")
