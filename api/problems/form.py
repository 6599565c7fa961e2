"""What cannot be read in a request, or does not fit: its sender can mend it."""

from api.messages import Words, say
from api.problems.kind import Kind

KINDS = (
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
    Kind("empty-case", 400, Words("The case is empty", "案例是空的"), say("nothing")),
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
        "headers-too-large",
        431,
        Words("The headers are too large", "请求头过大"),
        Words(
            "The request line and the headers together are beyond the limit that the detail names. Send less, or send "
            "it in the body.",
            "请求行与请求头合计超出 detail 所说的上限。请缩减，或放入请求体发送。",
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
)
