"""HTML pages for people: complete as sent, without scripts and without anything from another host."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from api.openapi import operations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from api.problems.kind import Kind
    from engine.model.base import Lang

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .875rem; }
pre { overflow: auto; max-height: 30rem; padding: .75rem; border: 1px solid #8886; border-radius: .25rem; }
details { border: 1px solid #8886; border-radius: .25rem; margin: .5rem 0; padding: 0 .75rem; }
details[open] { padding-bottom: .75rem; }
summary { cursor: pointer; padding: .5rem 0; }
table { border-collapse: collapse; } td, th { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; }
.method { display: inline-block; min-width: 3.5rem; font-weight: 700; }
"""


def start() -> str:
    """The page at ``/``."""
    links = (
        ("/docs", "Operations, with examples"),
        ("/openapi.json", "The same as an OpenAPI document"),
        ("/v1/causes", "Known causes"),
        ("/readyz", "Is the service ready?"),
    )
    items = "".join(f'<li><a href="{target}">{text}</a></li>' for target, text in links)
    return _page(
        "traintriage",
        f"<p>Rule-based diagnosis of training incidents. 训练故障的规则诊断。</p><ul>{items}</ul>",
    )


def problem(kind: Kind, lang: Lang) -> str:
    """The page at ``/problems/<slug>``."""
    return _page(
        kind.title.get(lang),
        f"<p>{escape(kind.meaning.get(lang))}</p>"
        f"<p>HTTP status {kind.status}, type <code>/problems/{kind.slug}</code>.</p>"
        '<p><a href="/docs">All operations</a></p>',
        lang,
    )


def docs(document: dict[str, Any]) -> str:
    """The page at ``/docs``, made of the OpenAPI ``document``."""
    parts = [f"<p>{escape(document['info']['description'])}</p>", '<p><a href="/openapi.json">openapi.json</a></p>']
    for tag in document["tags"]:
        parts.append(f"<h2>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>")
        parts += [
            _operation(name, operation) for name, operation in operations(document) if tag["name"] in operation["tags"]
        ]
    parts.append("<h2>Schemas</h2>")
    parts += [
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>{_json(schema)}</details>'
        for name, schema in sorted(document["components"]["schemas"].items())
    ]
    return _page(f"traintriage {document['info']['version']}", "".join(parts))


def _page(title: str, body: str, lang: Lang = "en") -> str:
    return (
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{body}</body></html>"
    )


def _operation(name: str, operation: dict[str, Any]) -> str:
    method, path = name.split(" ")
    head = f'<span class="method">{method}</span> <code>{escape(path)}</code> {escape(operation["summary"])}'
    parts = [f"<p>{escape(operation.get('description', ''))}</p>"]
    parts.append(_parameters(operation.get("parameters", ())))
    if "requestBody" in operation:
        parts.append("<h3>Request</h3>" + _content(operation["requestBody"]["content"]))
    for status, response in sorted(operation["responses"].items()):
        parts.append(
            f"<details><summary>{status} {escape(response['description'])}</summary>"
            f"{_content(response.get('content', {}))}</details>"
        )
    return f'<details id="{operation["operationId"]}"><summary>{head}</summary>{"".join(parts)}</details>'


def _parameters(parameters: Iterable[dict[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(p['name'])}</code></td><td>{p['in']}{', required' if p.get('required') else ''}</td>"
        f"<td>{escape(p.get('description', ''))}</td></tr>"
        for p in parameters
    )
    return f"<table>{rows}</table>" if rows else ""


def _content(content: dict[str, Any]) -> str:
    parts = []
    for media_type, described in content.items():
        reference = described.get("schema", {}).get("$ref", "").rpartition("/")[2]
        link = f' <a href="#{escape(reference)}">{escape(reference)}</a>' if reference else ""
        parts.append(f"<p><code>{escape(media_type)}</code>{link}</p>")
        examples = described.get("examples", {}).values()
        parts += [_json(example["value"]) for example in examples]
        if "example" in described:
            parts.append(_json(described["example"]))
    return "".join(parts)


def _json(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return f"<pre>{escape(text)}</pre>"
