"""An audit as one HTML page: complete as sent, without scripts and without anything from elsewhere."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from api.reports.outline import outline
from api.reports.text import visible, word

if TYPE_CHECKING:
    from markupsafe import Markup

    from engine.model.audit import AuditResult
    from engine.model.base import Lang


def page(result: AuditResult, lang: Lang) -> str:
    """The page; every text is escaped by the template engine."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("api.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["visible"] = visible
    environment.filters["coded"] = coded
    template = environment.get_template("audit.html")
    return template.render(result=result, outline=outline(result), word=partial(word, lang=lang), lang=lang)


def coded(text: str) -> Markup:
    """A text of the knowledge base, escaped, with what stands between backticks as code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if n % 2 else escape(p) for n, p in enumerate(parts))
