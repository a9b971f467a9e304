# SPDX-License-Identifier: Apache-2.0
"""A document that is written gets the same checks as one that is read, without pydantic."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from numascape.machine.bounds import Bounds, first_breach
from numascape.machine.description import Count


@dataclass(frozen=True)
class Inner:
    size: Count


@dataclass(frozen=True)
class Document:
    share: Annotated[float, Bounds(ge=0, le=1)]
    kind: Literal["a", "b"] = "a"
    speed: Annotated[float, Bounds(gt=0)] | None = None
    cpus: tuple[Annotated[int, Bounds(ge=0, lt=8)], ...] = ()
    point: tuple[int, Count] = (0, 0)
    name: Annotated[str, Bounds(max_length=3)] = ""
    inner: Inner | None = None
    files: dict[str, Inner] | None = None


RIGHT = [
    Document(0.0),
    Document(1.0, "b", 0.1, (0, 7), (-1, (1 << 64) - 1), "abc", Inner(0), {"x": Inner(1)}),
]
WRONG = {
    "share: not at least 0": Document(-0.1),
    "share: not at most 1": Document(1.5),
    "share: not a finite number": Document(math.nan),
    "speed: not more than 0": Document(0.5, speed=0.0),
    "speed: not a finite number": Document(0.5, speed=math.inf),
    "cpus.1: not less than 8": Document(0.5, cpus=(1, 8)),
    "point.1: greater than 2^64 - 1": Document(0.5, point=(1, 1 << 64)),
    "name: longer than 3 characters": Document(0.5, name="abcd"),
    "inner.size: not at least 0": Document(0.5, inner=Inner(-1)),
    "files.x.size: not at least 0": Document(0.5, files={"x": Inner(-1)}),
}


@pytest.mark.parametrize("document", RIGHT)
def test_what_is_right_is_so_for_pydantic_too(document: Document) -> None:
    assert first_breach(document) is None
    adapter = TypeAdapter(Document)
    assert adapter.validate_json(adapter.dump_json(document), strict=True) == document


@pytest.mark.parametrize(("wrong", "document"), WRONG.items())
def test_what_is_wrong_is_named_and_refused_by_pydantic(wrong: str, document: Document) -> None:
    assert first_breach(document) == wrong
    adapter = TypeAdapter(Document)
    with pytest.raises(ValidationError, match=wrong.partition(":")[0]):
        adapter.validate_python(dataclasses.asdict(document))
