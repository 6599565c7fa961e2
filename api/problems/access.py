"""Who may not do it, cannot prove who it is, or asks too often."""

from api.messages import Words
from api.problems.kind import Kind

KINDS = (
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
        "unproven",
        401,
        Words("The sender is not proven", "无法证明发送者"),
        Words(
            "The request carries no valid signature of the service it claims to come from, or one that is too old.",
            "请求没有所称来源的有效签名，或签名过旧。",
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
        "unknown-workspace",
        403,
        Words("This workspace is not let in", "不接受此工作区"),
        Words(
            "The request is genuine, but of a Slack workspace that TRAINTRIAGE_SLACK_TEAMS does not name.",
            "请求是真实的，但其 Slack 工作区不在 TRAINTRIAGE_SLACK_TEAMS 之中。",
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
)
