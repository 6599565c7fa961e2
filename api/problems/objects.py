"""What is not there, or is not in the state that the request needs."""

from api.messages import Words
from api.problems.kind import Kind

KINDS = (
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
        "method-not-allowed",
        405,
        Words("This path has no such method", "此路径没有这个方法"),
        Words(
            "The path exists, the method does not. The Allow header of the answer names the methods it has.",
            "路径存在，但没有这个方法。响应的 Allow 头列出可用的方法。",
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
        "key-reused",
        422,
        Words("This key belongs to another request", "此键属于另一个请求"),
        Words(
            "The Idempotency-Key was used before with another body, path or language. Use a new key for a new "
            "request, and the same key only to repeat one.",
            "此 Idempotency-Key 已用于不同的请求体、路径或语言。新请求请用新键，只有重发时才用同一个键。",
        ),
    ),
)
