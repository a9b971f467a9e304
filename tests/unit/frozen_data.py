# SPDX-License-Identifier: Apache-2.0
"""The dataclasses of a package promise that their data is computed once and never changed."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

COMPARED_BY_ELEMENT = ("Floats", "ndarray", "DataFrame", "NDArray")
"""Types in whose comparison each element has an answer of its own."""


def broken_promises(package: str) -> list[str]:
    """The dataclasses that can be changed, or whose `==` compares arrays or frames as a whole."""
    wrong = []
    for kind in dataclasses_of(package):
        parameters: Any = kind.__dataclass_params__
        if not parameters.frozen:
            wrong.append(f"{kind.__qualname__} can be changed")
        types = " ".join(str(field.type) for field in dataclasses.fields(kind))
        if parameters.eq and any(name in types for name in COMPARED_BY_ELEMENT):
            wrong.append(f"{kind.__qualname__} compares arrays or frames")
    return wrong


def dataclasses_of(package: str) -> Iterator[Any]:
    """The dataclasses that the package's modules define."""
    root = importlib.import_module(package)
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            own = isinstance(kind, type) and kind.__module__ == found.name
            if own and dataclasses.is_dataclass(kind):
                yield kind
