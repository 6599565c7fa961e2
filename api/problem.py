"""The kinds of problems there are (RFC 9457), and the exception that carries one; knows no web framework."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from api.messages import Words, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from api.validation import FieldError


@dataclass(frozen=True)
class Kind:
    """A kind of problem: its HTTP status, and what its page at ``/problems/<slug>`` says."""

    slug: str
    status: int
    title: Words
    meaning: Words


_KINDS = (
    Kind(
        "bad-json",
        400,
        Words("The JSON cannot be read", "JSON 无法读取"),
        Words(
            "The body is not JSON. NaN, Infinity and -Infinity are accepted as numbers; everything else follows "
            "RFC 8259. The detail names line and column. A key may stand only once in an object, because one of "
            "two values would be lost.",
            "请求体不是 JSON。NaN、Infinity、-Infinity 可作数字，其余遵循 RFC 8259。detail 指出行与列。"
            "同一对象内键不可重复，否则两个值会丢掉一个。",
        ),
    ),
    Kind(
        "bad-yaml",
        400,
        Words("The YAML cannot be read", "YAML 无法读取"),
        Words(
            "The text is not YAML that this service reads: one document of plain mappings, lists, texts and "
            "numbers, without anchors, aliases and tags. The detail names the line.",
            "文本不是本服务可读的 YAML：只能是一个文档，由普通的映射、列表、文本和数字组成，不含锚点、别名和标签。"
            "detail 指出行号。",
        ),
    ),
    Kind(
        "bad-multipart",
        400,
        Words("The multipart body cannot be read", "multipart 请求体无法读取"),
        Words(
            "The body is not multipart/form-data with the boundary that its Content-Type names, or it ends before "
            "the closing boundary. Let the HTTP client write that header, for instance with curl -F.",
            "请求体不是按 Content-Type 中的 boundary 分隔的 multipart/form-data，或在结束分隔符之前就断了。"
            "请让 HTTP 客户端自己写这个头，例如用 curl -F。",
        ),
    ),
    Kind(
        "bad-request",
        400,
        Words("The request cannot be read", "请求无法读取"),
        Words("The request is malformed.", "请求格式有误。"),
    ),
    Kind(
        "unknown-host",
        400,
        Words("This is not a name of the service", "这不是本服务的名称"),
        Words(
            "The Host header names another host. The service answers to localhost, 127.0.0.1, [::1] and the names in "
            "TRAINTRIAGE_ALLOWED_HOSTS only, so that a web page of somebody else cannot reach it through a name of "
            "its own.",
            "Host 头写的是别的主机。服务只应答 localhost、127.0.0.1、[::1] 以及 TRAINTRIAGE_ALLOWED_HOSTS 中的名称，"
            "以免他人的网页借自己的域名访问它。",
        ),
    ),
    Kind(
        "unauthenticated",
        401,
        Words("The service does not know who asks", "服务不知道请求者是谁"),
        Words(
            "The operation needs an API key, or a token of the identity provider, in the Authorization header; none "
            "was sent, or it is not, or no longer, valid. The detail says which.",
            "此操作需要在 Authorization 头中给出 API 密钥或身份提供方的令牌；请求未带，或其无效或已失效。"
            "detail 指出原因。",
        ),
    ),
    Kind(
        "forbidden",
        403,
        Words("The caller may not do this", "请求者无权执行此操作"),
        Words(
            "The key or token is valid, but lacks the scope that the detail names. Ask those who run the service for "
            "a key with that scope.",
            "密钥或令牌有效，但缺少 detail 所说的权限。请向服务的维护者索取有该权限的密钥。",
        ),
    ),
    Kind(
        "cross-site",
        403,
        Words("The request comes from a page of another site", "请求来自其他网站的页面"),
        Words(
            "The Origin header names a page of another host. A browser sends such a request without asking its "
            "user, so it is refused. Programs need not send Origin.",
            "Origin 头写的是其他主机的页面。浏览器会在用户不知情时发出这种请求，因此被拒绝。程序无需发送 Origin。",
        ),
    ),
    Kind(
        "too-many-requests",
        429,
        Words("Too many requests", "请求过多"),
        Words(
            "The caller, or the address, sent more requests of this kind than it may, or too many wrong keys. Send "
            "the request again after the seconds in Retry-After.",
            "此请求者或地址发出的这类请求超出允许的数量，或发送了过多错误的密钥。请在 Retry-After 的秒数之后重发。",
        ),
    ),
    Kind("empty-case", 400, Words("The case is empty", "案例是空的"), say("nothing")),
    Kind(
        "not-found",
        404,
        Words("Nothing is here", "此处没有内容"),
        Words(
            "No operation has this path. The operations are listed at /docs and /openapi.json.",
            "没有任何操作使用此路径。全部操作见 /docs 与 /openapi.json。",
        ),
    ),
    Kind(
        "unknown-id",
        404,
        Words("No object has this id", "没有此 id 的对象"),
        Words(
            "The knowledge base holds no object of this kind with this id. The list of the kind, for instance "
            "/v1/causes?q=overflow, shows which there are.",
            "知识库中此类对象没有这个 id。该类的列表（例如 /v1/causes?q=overflow）列出已有的。",
        ),
    ),
    Kind(
        "unknown-audit",
        404,
        Words("No audit has this id", "没有此 id 的审计"),
        Words(
            "The id is none of a kept audit. Audits are kept until newer ones push them out; audit the checkpoint "
            "again, which takes little time if its files did not change.",
            "没有保存此 id 的审计。较旧的审计会被新的挤出；请重新审计，文件未变时很快。",
        ),
    ),
    Kind(
        "unknown-case",
        404,
        Words("No case has this id", "没有此 id 的案例"),
        Words(
            "There is no such case, or it is one of another tenant. GET /v1/cases lists those there are.",
            "没有此案例，或它属于另一租户。GET /v1/cases 列出已有的案例。",
        ),
    ),
    Kind(
        "unknown-event",
        404,
        Words("The case has no such event", "案例中没有此事件"),
        Words(
            "Events are numbered from 1; GET /v1/cases/{id}/timeline lists them.",
            "事件从 1 开始编号；GET /v1/cases/{id}/timeline 列出全部事件。",
        ),
    ),
    Kind(
        "case-resolved",
        409,
        Words("The case is resolved", "案例已结案"),
        Words(
            "A resolved case takes no evidence and no answers. Reopen it first: DELETE /v1/cases/{id}/resolution.",
            "已结案的案例不再接受证据与回答。请先重新打开：DELETE /v1/cases/{id}/resolution。",
        ),
    ),
    Kind(
        "case-open",
        409,
        Words("The case is open", "案例未结案"),
        Words("Only a resolved case can be opened again.", "只有已结案的案例才能重新打开。"),
    ),
    Kind(
        "case-changed",
        409,
        Words("The case was changed meanwhile", "案例同时被别人改动"),
        Words(
            "Others change the case faster than this request could follow. Nothing of it was kept; send it again.",
            "其他人对案例的改动快于此请求。此请求未被保存，请重发。",
        ),
    ),
    Kind(
        "bad-signature",
        401,
        Words("The signature is missing or wrong", "签名缺失或不正确"),
        Words(
            "The request has to be signed with a secret that both sides have, over its bytes as they were sent, and by "
            "a clock that is right. See that the secret is the same on both sides and that nothing on the way changes "
            "the body.",
            "请求须用双方共有的密钥对原始字节签名，且时钟要准。请确认双方密钥一致，中途没有改动请求体。",
        ),
    ),
    Kind(
        "outside-roots",
        403,
        Words("This path may not be read", "不允许读取此路径"),
        Words(
            "A checkpoint on the disk of the service can be audited only below the folders in "
            "TRAINTRIAGE_AUDIT_ROOTS, links followed; by default there are none. Send the files as multipart/form-data "
            "instead, or ask those who run the service.",
            "只有 TRAINTRIAGE_AUDIT_ROOTS 中的文件夹（跟随链接后）里的检查点可按路径审计；默认没有。"
            "请改用 multipart/form-data 上传文件，或联系服务的维护者。",
        ),
    ),
    Kind(
        "unproven",
        401,
        Words("The sender is not proven", "无法证明发送者"),
        Words(
            "The request carries no valid signature of the service it claims to come from, or one that is too old.",
            "请求没有所称来源的有效签名，或签名过旧。",
        ),
    ),
    Kind(
        "unknown-workspace",
        403,
        Words("This workspace is not let in", "不接受此工作区"),
        Words(
            "The request is genuine, but of a Slack workspace that TRAINTRIAGE_SLACK_TEAMS does not name.",
            "请求是真实的，但其 Slack 工作区不在 TRAINTRIAGE_SLACK_TEAMS 之中。",
        ),
    ),
    Kind(
        "method-not-allowed",
        405,
        Words("This path has no such method", "此路径没有这个方法"),
        Words(
            "The path exists, the method does not. The Allow header of the answer names the methods it has.",
            "路径存在，但没有这个方法。响应的 Allow 头列出可用的方法。",
        ),
    ),
    Kind(
        "body-timeout",
        408,
        Words("The body did not arrive in time", "请求体未按时到达"),
        Words(
            "The whole body must arrive within the seconds that the detail names.",
            "整个请求体须在 detail 所说的秒数内到达。",
        ),
    ),
    Kind(
        "key-in-flight",
        409,
        Words("A request with this key is being answered", "使用此键的请求正在处理"),
        Words(
            "A request with the same Idempotency-Key has not been answered yet. Wait a second and send it again: "
            "the answer will then be the stored one.",
            "带有相同 Idempotency-Key 的请求尚未答复。请等一秒再发，届时得到的是已存的答复。",
        ),
    ),
    Kind(
        "too-large",
        413,
        Words("The request is too large", "请求过大"),
        Words(
            "The body, a part of it or the number of files is beyond the limit that the detail names. Send large "
            "logs and metrics as files in multipart/form-data, and of a very long log the part around the "
            "incident.",
            "请求体、其中一部分或文件数超出 detail 所说的上限。大的日志和指标请以 multipart/form-data 作为文件上传；"
            "日志很长时只传事发前后的部分。",
        ),
    ),
    Kind(
        "unsupported-media-type",
        415,
        Words("This kind of body is not understood", "不支持这种请求体"),
        Words(
            "The Content-Type names a format or a charset that the operation does not read, or is missing; or the "
            "body is compressed. Send UTF-8 without Content-Encoding; single files of an upload may be .gz or .zst.",
            "Content-Type 写的格式或字符集此操作不读，或缺少该头；或请求体经过压缩。请发送 UTF-8，不加 "
            "Content-Encoding；上传的单个文件可以是 .gz 或 .zst。",
        ),
    ),
    Kind(
        "invalid-input",
        422,
        Words("The input does not fit", "输入不符合要求"),
        Words(
            "The request can be read, but does not have the expected form. Each entry of errors names the place "
            "(part and JSON pointer), the reason, and what to send instead.",
            "请求可以读取，但形式不符。errors 的每一项给出位置（部分与 JSON pointer）、原因和应改成什么。",
        ),
    ),
    Kind(
        "too-deep",
        422,
        Words("The input is nested too deeply", "输入嵌套过深"),
        Words(
            "Objects and lists may be nested at most 64 levels. Send a deeply nested file as an upload instead.",
            "对象与列表最多嵌套 64 层。嵌套很深的文件请改为上传。",
        ),
    ),
    Kind(
        "key-reused",
        422,
        Words("This key belongs to another request", "此键属于另一个请求"),
        Words(
            "The Idempotency-Key was used before with another body, path or language. Use a new key for a new "
            "request, and the same key only to repeat one.",
            "此 Idempotency-Key 已用于不同的请求体、路径或语言。新请求请用新键，只有重发时才用同一个键。",
        ),
    ),
    Kind(
        "internal",
        500,
        Words("The service failed", "服务出错"),
        Words(
            "This is a fault of the service, not of the request. Report the request_id: the log of the service "
            "holds the details under it.",
            "这是服务的故障，不是请求的问题。请报告 request_id：服务日志在它之下记有详情。",
        ),
    ),
    Kind(
        "not-ready",
        503,
        Words("The service is not ready", "服务未就绪"),
        Words(
            "The knowledge base, the engine or the store is not usable at the moment; /readyz says which.",
            "知识库、引擎或存储暂不可用；/readyz 指出是哪一个。",
        ),
    ),
    Kind(
        "store-unavailable",
        503,
        Words("The store cannot be used now", "存储暂不可用"),
        Words(
            "The database does not answer, or takes no writes. Nothing of the request was kept; send it again later. "
            "The log of the service says why.",
            "数据库没有应答或不接受写入。此请求未被保存，请稍后重发。原因见服务日志。",
        ),
    ),
    Kind(
        "store-full",
        507,
        Words("The store is full", "存储已满"),
        Words(
            "No room is left on the disk of the database. Nothing of the request was kept. Those who run the service "
            "have to make room; then send it again.",
            "数据库所在的磁盘已满。此请求未被保存。请服务的维护者腾出空间后重发。",
        ),
    ),
    Kind(
        "busy",
        503,
        Words("Too many cases are waiting to be read", "等待读取的案例过多"),
        Words(
            "More large cases wait to be read than the service takes. Try again after the seconds in Retry-After.",
            "等待读取的大案例超出服务的接纳量。请在 Retry-After 的秒数之后重试。",
        ),
    ),
    Kind(
        "too-many-alerts",
        503,
        Words("Too many alerts", "告警过多"),
        Words(
            "More alerts came than are taken. It is no 429, because Alertmanager sends an alert again after a 503 "
            "only. Send it again after the seconds in Retry-After.",
            "收到的告警超出接纳量。不用 429，因为 Alertmanager 只在 503 之后重发。请在 Retry-After 的秒数之后重发。",
        ),
    ),
    Kind(
        "audit-timeout",
        503,
        Words("The audit did not end in time", "审计未能按时完成"),
        Words(
            "Reading the checkpoint took longer than allowed. Audit a large one on the machine that holds it, with "
            "traintriage audit.",
            "读取检查点超过了允许的时间。大的检查点请在其所在的机器上用 traintriage audit 审计。",
        ),
    ),
    Kind(
        "reading-timeout",
        503,
        Words("The case could not be read in time", "案例未能按时读完"),
        Words(
            "Reading the uploaded files took longer than allowed. Send fewer or smaller files, for instance the "
            "part of the log around the incident.",
            "读取上传的文件超过了允许的时间。请少传或传小一些，例如只传事发前后的日志。",
        ),
    ),
)
KINDS: Mapping[str, Kind] = MappingProxyType({kind.slug: kind for kind in _KINDS})


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it a problem
    """An answer other than the wanted one; ``detail`` and ``errors`` are shown to the caller, in their language."""

    def __init__(
        self,
        slug: str,
        detail: Words,
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
    more = say("more", count=len(errors)) if len(errors) > 1 else say("one")
    return Problem(
        "invalid-input", say("invalid", where=first.where, reason=first.reason, send=first.send, more=more), errors
    )


def too_large(what: str, limit: int, headers: Mapping[str, str] | None = None) -> Problem:
    """The 413 problem for ``what`` (the key of a message), which may have ``limit`` bytes."""
    return Problem("too-large", say("too-large", what=say(what), limit=limit), headers=headers)
