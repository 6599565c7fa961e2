"""Code that a checkpoint brings along or names, and settings by which a loader fetches or runs something.

Sources: how transformers resolves ``auto_map`` (``dynamic_module_utils``), how it loads attention kernels by the name
of a repository (GHSA-29pf-2h5f-8g72), and how sentence-transformers imports the modules of ``modules.json``.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

from engine.audit.documents import shown

MAX_NODES = 100_000
MAX_SOURCE_BYTES = 1 << 20
_ATTENTION = re.compile(r"_?(attn|attention|experts)_implementation(_internal|_autoset)?")
_KERNELS = re.compile(r"_?(hub_)?kernels?(_config|_mapping|_repo\w*|_name)?")
_OPEN_TEXTS = frozenset({"chat_template", "template", "description", "citation", "license", "license_link", "homepage",
                         "prompts", "system_prompt", "task_specific_params", "pretrained_cfg", "$schema"})  # fmt: skip
_RUNS = frozenset({"eval", "exec", "compile", "__import__"})


def walk(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Every value of a JSON document below an object: its path, its key, itself. Texts for people are left out."""
    todo: list[tuple[str, str, Any]] = [("$", "", value)]
    for _ in range(MAX_NODES):
        if not todo:
            return
        path, key, item = todo.pop()
        yield path, key, item
        if isinstance(item, dict):
            todo.extend((shown(f"{path}.{k}", 200), k, v) for k, v in reversed(item.items()) if k not in _OPEN_TEXTS)
        elif isinstance(item, list):
            todo.extend((shown(f"{path}[{i}]", 200), key, v) for i, v in reversed(list(enumerate(item[:1000]))))


def named_code(value: Any) -> Iterator[tuple[str, str]]:
    """Path and text of every class that a loader takes from code of a repository."""
    for path, _, item in walk(value):
        if not isinstance(item, dict):
            continue
        auto = item.get("auto_map")
        for name, target in auto.items() if isinstance(auto, dict) else ():
            for text in target if isinstance(target, list) else (target,):
                if isinstance(text, str):
                    yield shown(f"{path}.auto_map.{name}", 200), text
        pipelines = item.get("custom_pipelines")
        for name, pipeline in pipelines.items() if isinstance(pipelines, dict) else ():
            if isinstance(pipeline, dict) and isinstance(pipeline.get("impl"), str):
                yield shown(f"{path}.custom_pipelines.{name}.impl", 200), pipeline["impl"]
        mapping = item.get("auto_mapping")
        library = mapping.get("parent_library") if isinstance(mapping, dict) else None
        if isinstance(library, str) and library.startswith("transformers_modules"):
            yield f"{path}.auto_mapping.parent_library", library


def module_types(value: Any) -> Iterator[tuple[str, str]]:
    """Path and text of the modules that sentence-transformers would import from elsewhere than its own package."""
    for index, module in enumerate(value if isinstance(value, list) else ()):
        kind = module.get("type") if isinstance(module, dict) else None
        if isinstance(kind, str) and not kind.startswith("sentence_transformers."):
            yield f"$[{index}].type", kind


def running_fields(value: Any) -> Iterator[tuple[str, str]]:
    """Settings by which a loader fetches code or runs it."""
    for path, key, item in walk(value):
        if not isinstance(item, str):
            continue
        named = _ATTENTION.fullmatch(key) or any(map(_KERNELS.fullmatch, re.split(r"[.\[]", path)))
        if (named and "/" in item) or (key == "custom_generate" and item):
            yield path, item
    template = value.get("chat_template") if isinstance(value, dict) else None
    if isinstance(template, str) and "{" not in template and re.search(r"\.(jinja2?|j2|json)$|^[/~]|://", template):
        yield "$.chat_template", template


def addresses(value: Any) -> Iterator[tuple[str, str]]:
    """Settings that are an address on the network."""
    for path, _, item in walk(value):
        if isinstance(item, str) and re.match(r"(?i)(https?|ftp|s3|gs|hf|file)://", item):
            yield path, item


def described(source: bytes) -> str:
    """What a Python file imports and runs, in a few words; it is parsed, never run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "code that cannot be parsed"
    modules: dict[str, None] = {}
    runs: dict[str, None] = {}
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        todo.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            modules.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            modules["." * node.level + (node.module or "")] = None
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _RUNS:
            runs[node.func.id] = None
    calls = f"; calls {', '.join(sorted(runs))}" if runs else ""
    return f"imports {', '.join(sorted(modules)) or 'nothing'}"[:90] + calls
