"""The knowledge base as a folder of Markdown pages, for MkDocs or any reader: the same text as ``kb explain``."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from engine.knowledge.pages import page_of
from engine.knowledge.words import label

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang

# In the order of the index; facts, signatures and the rest are read beside the objects that use them.
SHOWN = ("causes", "checks", "gates", "findings")
_ID = re.compile(r"`([a-z0-9][a-z0-9./()_-]*)`(?!\]\()")


def catalogue(knowledge: Knowledge, lang: Lang = "en") -> dict[str, str]:
    """Every page by its relative path: one for each cause, check, gate and finding, and an index of each kind.

    An id in backticks becomes a link where there is a page for it.
    """
    paths = {id_: f"{kind}/{_slug(id_)}.md" for kind in reversed(SHOWN) for id_ in getattr(knowledge, kind)}
    pages = {
        f"{kind}/{_slug(id_)}.md": page_of(knowledge, kind, id_, lang)
        for kind in SHOWN
        for id_ in getattr(knowledge, kind)
    }
    for kind in SHOWN:
        pages[f"{kind}/index.md"] = _index(knowledge, kind, lang)
    links = "\n".join(f"- [{label(kind, lang)}]({kind}/index.md): {len(getattr(knowledge, kind))}" for kind in SHOWN)
    linked = {path: _linked(path, text, paths) for path, text in pages.items()}
    return linked | {"index.md": f"# traintriage {knowledge.version}\n\n{links}\n"}


def _index(knowledge: Knowledge, kind: str, lang: Lang) -> str:
    """The objects of a kind under the part of their id that groups them, with their titles."""
    lines = [f"# {label(kind, lang)}"]
    group = ""
    for id_, value in getattr(knowledge, kind).items():
        here = re.split(r"[/.(]", id_)[0] if kind != "checks" else ""
        if here != group:
            group = here
            lines += ["", f"## {group}", ""]
        elif len(lines) == 1:
            lines.append("")
        lines.append(f"- {value.title.get(lang)} `{id_}`")
    return "\n".join(lines) + "\n"


def _linked(path: str, text: str, paths: Mapping[str, str]) -> str:
    folder = posixpath.dirname(path)

    def link(match: re.Match[str]) -> str:
        target = paths.get(match[1])
        if target is None or target == path:
            return match[0]
        return f"[{match[0]}]({posixpath.relpath(target, folder)})"

    return _ID.sub(link, text)


def _slug(id_: str) -> str:
    """A file name: brackets of parametrised findings would need escaping in links."""
    return id_.replace("(", "--").replace(")", "")
