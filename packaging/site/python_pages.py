# SPDX-License-Identifier: Apache-2.0
"""A page for each public Python module, from its docstrings and signatures."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, Final

MODULES: Final = ("numascape", "numascape.machine", "numascape.balance", "numascape.plan")


def python_pages() -> dict[str, str]:
    """The pages by the names of their files, without suffix."""
    return {name: _page(import_module(name)) for name in MODULES}


def _page(module: ModuleType) -> str:
    parts = [f"# {module.__name__}", "", _text(module)]
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing):
            parts += ["", f"## {name}", "", *_class(thing)]
        elif callable(thing):
            parts += ["", f"## {name}", "", *_function(name, thing)]
    return "\n".join([*parts, ""])


def _text(thing: object) -> str:
    """The docstring; its literals in two backticks get one, as Markdown has them."""
    # In the docstring of a module, indented lines are code; other docstrings are wholly indented.
    text = thing.__doc__ if inspect.ismodule(thing) else inspect.getdoc(thing)
    return (text or "").replace("``", "`").replace("<", "&lt;")


def _function(name: str, function: Any) -> list[str]:
    return ["```python", f"{name}{_signature(function)}", "```", "", _text(function)]


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    kept = [p for p in signature.parameters.values() if p.name not in {"self", "cls"}]
    return str(signature.replace(parameters=kept)).replace("'", "")


def _class(of: type) -> list[str]:
    parts = [_text(of)]
    if dataclasses.is_dataclass(of):
        fields = [field for field in dataclasses.fields(of) if not field.name.startswith("_")]
        parts += ["", "| field | type |", "|---|---|"]
        parts += [f"| `{field.name}` | `{_type(field.type)}` |" for field in fields]
    for name, member in _members(of):
        if isinstance(member, property | cached_property):
            function = member.func if isinstance(member, cached_property) else member.fget
            parts += ["", f"### {of.__name__}.{name}", "", _text(function)]
        else:
            inner = getattr(member, "__func__", member)
            parts += ["", f"### {of.__name__}.{name}", "", *_function(name, inner)]
    return parts


def _type(kind: object) -> str:
    text = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    return text.replace("|", r"\|")


def _members(of: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with a docstring, of the class and its bases in Numascape."""
    seen: set[str] = set()
    for base in of.__mro__:
        if not base.__module__.startswith("numascape"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            is_method = inspect.isfunction(member) or isinstance(member, classmethod | staticmethod)
            if is_method or isinstance(member, property | cached_property):
                seen.add(name)
                yield name, member
