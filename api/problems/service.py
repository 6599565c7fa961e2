"""What the service itself cannot do, or not now."""

from api.messages import Words
from api.problems.kind import Kind

KINDS = (
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
