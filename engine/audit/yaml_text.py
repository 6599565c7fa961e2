"""YAML from people, read safely: no tags that build objects, and no aliases that could blow up a small text."""

from __future__ import annotations

from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias (*name) is not allowed here")
        return super().compose_node(parent, index)


def safe_yaml(text: str | bytes) -> Any:
    """The value of a YAML text.

    Raises:
        yaml.YAMLError: if it is none, or holds an alias.
    """
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
