"""What the service says about requests it cannot answer: every word of its own, in English and Chinese.

The reasons that pydantic, the JSON and the YAML parser give stay in English; they are filled into these.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.model.base import Lang


@dataclass(frozen=True)
class Words:
    """One message in both languages. Not a ``Text`` of the knowledge base, which bounds the length of what it holds."""

    en: str
    zh: str

    def get(self, lang: Lang) -> str:
        """The message in ``lang``."""
        return self.zh if lang == "zh" else self.en


def say(key: str, /, **values: object) -> Words:
    """The message ``key`` with ``values`` filled in."""
    message = _MESSAGES[key]
    return Words(message.en.format(**values), message.zh.format(**values))


def as_is(text: str) -> Words:
    """A reason that exists in English only."""
    return Words(text, text)


_MESSAGES: Mapping[str, Words] = MappingProxyType(
    {
        "not-utf8": Words(
            "Byte {at} is not UTF-8. Save the text as UTF-8.", "第 {at} 字节不是 UTF-8。请把文本存为 UTF-8。"
        ),
        "json-place": Words("Line {line}, column {column}: {reason}.", "第 {line} 行第 {column} 列：{reason}。"),
        "json-digits": Words(
            "A whole number has more than 4,300 digits. Send it as text in quotes.",
            "有整数超过 4,300 位。请加引号作为文本发送。",
        ),
        "json-surrogate": Words(
            r"A \ud800 to \udfff escape stands alone: it is half a character. Delete it.",
            r"有单独的 \ud800 至 \udfff 转义：它只是半个字符。请删除。",
        ),
        "json-repeat": Words(
            "The key {key} stands twice in one object. Keep one of the two.",
            "键 {key} 在同一对象中出现两次。请只留一个。",
        ),
        "yaml": Words("{reason}.", "{reason}。"),
        "yaml-line": Words("Line {line}: {reason}.", "第 {line} 行：{reason}。"),
        "too-deep": Words(
            "Objects and lists may be nested at most {levels} levels deep.", "对象与列表最多嵌套 {levels} 层。"
        ),
        "nothing": Words(
            "There is nothing to diagnose. Send at least one of: report (what happened, in your words), observations, "
            "log, series, files, facts, contrast; or upload files as multipart/form-data.",
            "没有可诊断的内容。请至少给出以下一项：report（用自己的话说明发生了什么）、observations、log、series、files、facts、"
            "contrast；或以 multipart/form-data 上传文件。",
        ),
        "empty-files": Words(
            "Every uploaded file is empty. Send the log or metrics file with its content, or a report.",
            "上传的文件全是空的。请发送有内容的日志或指标文件，或写一段 report。",
        ),
        "boundary": Words(
            "The body does not follow the boundary that its Content-Type names.",
            "请求体没有按 Content-Type 中的 boundary 分隔。",
        ),
        "truncated": Words(
            "The body ends before its closing boundary, so its last part is not complete. Send it again in full, with "
            "the boundary and two hyphens at the end.",
            "请求体在结束分隔符之前中断，最后一部分不完整。请完整重发，末尾为 boundary 加两个连字符。",
        ),
        "part-header": Words(
            "The header of a part, or the charset it names, cannot be read.", "某部分的头或其字符集无法读取。"
        ),
        "too-many-files": Words(
            "A multipart body may have at most {limit} files. Pack them together.",
            "multipart 请求体最多含 {limit} 个文件。请合并打包。",
        ),
        "too-large": Words(
            "{what.en} may have at most {limit:,} bytes. Upload large logs and metrics as files in "
            "multipart/form-data, and of a very long log the part around the incident.",
            "{what.zh}最多 {limit:,} 字节。大的日志和指标请以 multipart/form-data 作为文件上传；"
            "日志很长时只传事发前后的部分。",
        ),
        "headers-too-large": Words(
            "The request line and the headers may have at most {limit:,} bytes together.",
            "请求行与请求头合计最多 {limit:,} 字节。",
        ),
        "not-http": Words("This is not a request of HTTP/1.1.", "这不是 HTTP/1.1 请求。"),
        "the-body": Words("This body", "此请求体"),
        "multipart-body": Words("A multipart body", "multipart 请求体"),
        "yaml-document": Words("A YAML document", "YAML 文档"),
        "case-part": Words("The part 'case'", "case 部分"),
        "field-part": Words("A part that is not a file", "非文件的部分"),
        "media-type": Words(
            "Send the body with one of these Content-Types: {accepted}.",
            "请用以下 Content-Type 之一发送请求体：{accepted}。",
        ),
        "charset": Words(
            "Only UTF-8 is read. Convert the text and send charset=utf-8, or no charset.",
            "只读 UTF-8。请转换文本，并写 charset=utf-8 或不写 charset。",
        ),
        "content-encoding": Words(
            "A compressed body is not read. Send it without Content-Encoding; single files of a multipart upload may "
            "be .gz or .zst.",
            "不读压缩的请求体。请去掉 Content-Encoding；multipart 上传的单个文件可以是 .gz 或 .zst。",
        ),
        "unknown-host": Words(
            "The Host header must name this service: {hosts}. TRAINTRIAGE_ALLOWED_HOSTS adds more names.",
            "Host 头须是本服务的名称：{hosts}。可用 TRAINTRIAGE_ALLOWED_HOSTS 增加名称。",
        ),
        "body-timeout": Words(
            "The body did not arrive within {seconds:g} seconds. Send it faster, or less of it.",
            "请求体未在 {seconds:g} 秒内到达。请加快发送，或少发一些。",
        ),
        "no-path": Words(
            "No operation has this path; see /docs for those there are.", "没有操作使用此路径；全部操作见 /docs。"
        ),
        "no-method": Words(
            "This path does not have this method; see the Allow header.", "此路径没有这个方法；见 Allow 头。"
        ),
        "no-kind": Words("There is no problem of this kind.", "没有这一类问题。"),
        "no-object": Words(
            "There is no {kind} with this id; /v1/{plural} lists those there are.",
            "没有此 id 的对象；/v1/{plural} 列出已有的。",
        ),
        "no-active-cause": Words(
            "No cause that can be diagnosed has the id in 'cause'; see /v1/causes.",
            "cause 中的 id 不是可诊断的原因；见 /v1/causes。",
        ),
        "no-pipeline": Words(
            "This paradigm has no training step of its own. Those that have: {known}.",
            "此范式没有自己的训练步骤。有的是：{known}。",
        ),
        "in-flight": Words(
            "A request with this Idempotency-Key is being answered. Send it again in a second.",
            "使用此 Idempotency-Key 的请求正在处理。请一秒后重发。",
        ),
        "reused": Words(
            "This Idempotency-Key was used before for another request.", "此 Idempotency-Key 已用于另一个请求。"
        ),
        "internal": Words(
            "The request could not be answered. The log of the service says why.", "请求未能答复。原因见服务日志。"
        ),
        "no-knowledge": Words("No knowledge base is loaded.", "尚未载入知识库。"),
        "engine-failed": Words("The engine failed its self-test.", "引擎自检失败。"),
        "store-failed": Words("The store cannot be written.", "存储无法写入。"),
        "busy": Words("Too many large cases wait to be read.", "等待读取的大案例过多。"),
        "reading-timeout": Words(
            "The case was not read within {seconds:g} seconds. Send fewer or smaller files.",
            "案例未在 {seconds:g} 秒内读完。请少传或传小一些的文件。",
        ),
        "no-cursor": Words("this is not where a page ends", "这不是页的结尾"),
        "take-next": Words("Follow the 'next' of the page before.", "请使用上一页的 next。"),
        "many-streams": Words("Too many streams are open.", "打开的事件流过多。"),
        "no-case": Words("No case of yours has this id.", "您没有此 id 的案例。"),
        "no-event": Words("The case has {count} events; {seq} is none of them.", "案例有 {count} 个事件，没有 {seq}。"),
        "not-retractable": Words(
            "Event {seq} brought no evidence and no answer, so there is nothing to take back.",
            "事件 {seq} 未带来证据或回答，无可撤回。",
        ),
        "case-resolved": Words("The case is resolved; reopen it first.", "案例已结案；请先重新打开。"),
        "case-open": Words("The case is open, not resolved.", "案例仍打开，尚未结案。"),
        "case-changed": Words("The case was changed by others; send it again.", "案例被他人改动；请重发。"),
        "case-files": Words("the files of one case", "一个案例的文件"),
        "case-full": Words(
            "The case would hold more than {most} of {key}, all it can take. Send a file, or open another case.",
            "案例的 {key} 将超过上限 {most}。请作为文件发送，或另立案例。",
        ),
        "no-such-fact": Words("there is no fact and no finding with this id", "没有此 id 的事实或发现"),
        "see-facts": Words("Take an id from /v1/facts or /v1/findings.", "请从 /v1/facts 或 /v1/findings 取 id。"),
        "no-such-cause": Words("there is no cause with this id", "没有此 id 的原因"),
        "see-causes": Words(
            "Take an id from /v1/causes, or say in 'other' what it was.", "请从 /v1/causes 取 id，或在 other 中说明。"
        ),
        "no-outcome": Words("neither a cause nor 'other' is given", "既没有 cause 也没有 other"),
        "no-answer": Words("nothing is answered", "没有回答任何内容"),
        "send-answer": Words(
            "Send findings, facts, or the id in 'asked'.", "请发送 findings、facts，或 asked 中的 id。"
        ),
        "no-message": Words("the message is empty", "消息是空的"),
        "send-message": Words("Send some words, numbers or log lines.", "请发送文字、数字或日志行。"),
        "no-audit": Words("No audit is kept under this id.", "没有保存此 id 的审计。"),
        "no-roots": Words(
            "This service audits no checkpoint by its path: TRAINTRIAGE_AUDIT_ROOTS names no folder. Send the files.",
            "此服务不按路径审计检查点：TRAINTRIAGE_AUDIT_ROOTS 未列出文件夹。请上传文件。",
        ),
        "outside-roots": Words(
            "A path leads out of the folders that may be audited.", "有路径超出了允许审计的文件夹。"
        ),
        "audit-timeout": Words("The audit did not end within {seconds:g} seconds.", "审计未在 {seconds:g} 秒内完成。"),
        "invalid": Words("{where}: {reason.en}. {send.en}{more.en}", "{where}：{reason.zh}。{send.zh}{more.zh}"),
        "more": Words(" ({count} errors in all)", "（共 {count} 处错误）"),
        "one": Words("", ""),
        # Reasons and remedies of single values.
        "not-an-object": Words("the document is not an object", "文档不是对象"),
        "send-object-with-keys": Words("Send an object with keys.", "请发送带键的对象。"),
        "case-twice": Words("the part 'case' stands twice", "case 部分出现了两次"),
        "send-one-case": Words("Send one case.", "请只发一个案例。"),
        "unknown-part": Words("a part has an unknown name", "有部分的名称不认识"),
        "known-parts": Words(
            "Parts are 'case' (once, JSON or YAML) and 'files' (any number).",
            "可用的部分是 case（一次，JSON 或 YAML）与 files（任意个）。",
        ),
        "known-audit-parts": Words(
            "Parts are 'files', 'base', 'evals', 'baseline' and 'evidence' (files, any number), 'intent' and 'policy' "
            "(texts, once).",
            "可用的部分是 files、base、evals、baseline、evidence（文件，任意个），intent 与 policy（文本，各一次）。",
        ),
        "send-checkpoint": Words("Send the files of the checkpoint.", "请发送检查点的文件。"),
        "empty-folder": Words("the folder is empty", "文件夹是空的"),
        "not-there": Words("it is not there, or cannot be read", "不存在或无法读取"),
        "send-there": Words(
            "Send the path of a folder, or where it fits a file, that exists.",
            "请发送存在的文件夹（或可用时文件）的路径。",
        ),
        "no-policy": Words("no policy has this id", "没有此 id 的策略"),
        "bad-file-name": Words("the name of a file is no relative path", "有文件名不是相对路径"),
        "send-relative-name": Words(
            "Send each file under its path in the folder, such as weights/model.safetensors, at most 16 levels deep.",
            "请用文件在文件夹中的相对路径作文件名，如 weights/model.safetensors，最多 16 层。",
        ),
        "file-twice": Words("two files have the same name", "两个文件同名"),
        "send-file-once": Words("Send each file once.", "每个文件只发一次。"),
        "key-used": Words("it was used before for another request", "它已用于另一个请求"),
        "send-new-key": Words("Send a new key.", "请换一个新键。"),
        "no-key": Words("it is not a key", "它不是键"),
        "send-key": Words(
            "Send 1 to 128 printable ASCII characters without spaces and quotes, such as a UUID.",
            "请发送 1 至 128 个可打印 ASCII 字符，不含空格和引号，例如 UUID。",
        ),
        "missing": Words("a required value is missing", "缺少必需的值"),
        "add": Words("Add it.", "请补上。"),
        "unknown-key": Words("no such key is known here", "此处没有这个键"),
        "leave-out-parameter": Words(
            "Leave it out; /docs names the parameters there are.", "请去掉；可用的参数见 /docs。"
        ),
        "meant": Words(
            "Write '{close}' if that was meant. Known keys: {known}.", "若本意是 '{close}' 请改写。可用的键：{known}。"
        ),
        "lang-elsewhere": Words(
            "The language does not stand in the body: send the header Accept-Language, or ?lang= in the URL.",
            "语言不写在请求体中：请用 Accept-Language 头，或在 URL 中加 ?lang=。",
        ),
        "leave-out": Words("Leave it out. Known keys: {known}.", "请去掉。可用的键：{known}。"),
        "as-said": Words("Change it as the reason says.", "请按原因所说修改。"),
        "see-docs": Words("See /docs for what is expected.", "应有的形式见 /docs。"),
        "send-text": Words("Send a text.", "请发送文本。"),
        "send-whole": Words("Send a whole number.", "请发送整数。"),
        "send-number": Words("Send a number.", "请发送数字。"),
        "send-bool": Words("Send true or false.", "请发送 true 或 false。"),
        "send-list": Words("Send a list.", "请发送列表。"),
        "send-object": Words("Send an object.", "请发送对象。"),
        "above": Words("Send a number above {limit}.", "请发送大于 {limit} 的数。"),
        "at-least": Words("Send a number of at least {limit}.", "请发送不小于 {limit} 的数。"),
        "below": Words("Send a number below {limit}.", "请发送小于 {limit} 的数。"),
        "at-most": Words("Send a number of at most {limit}.", "请发送不大于 {limit} 的数。"),
        "shorter": Words(
            "Send at most {limit} characters; longer text fits into an uploaded file.",
            "最多 {limit} 个字符；更长的文本请作为文件上传。",
        ),
        "longer": Words("Send at least {limit} characters.", "至少 {limit} 个字符。"),
        "fewer": Words(
            "Send at most {limit} entries; larger data fits into an uploaded file.",
            "最多 {limit} 项；更多的数据请作为文件上传。",
        ),
        "more-entries": Words("Send at least {limit} entries.", "至少 {limit} 项。"),
        "one-of": Words("Send one of {limit}.", "请发送其中之一：{limit}。"),
        "pattern": Words("Send a text that matches {limit}.", "请发送符合 {limit} 的文本。"),
    }
)
