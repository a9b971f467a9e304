# SPDX-License-Identifier: Apache-2.0
"""Documents in JSON: which format and version they have, and what is wrong with them.

Loading pydantic and building a checker takes longer than most other work of a verb. So this happens
at the first use; a recording does not need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True)
class DocumentHeader:
    """The fields that every version of a document has."""

    format: str
    version: int


def read_header(text: bytes) -> DocumentHeader:
    """Read the header of a document. Raises pydantic's ValidationError."""
    return _header().validate_json(text)


@cache
def _header() -> TypeAdapter[DocumentHeader]:
    from pydantic import TypeAdapter

    return TypeAdapter(DocumentHeader)


def first_problem(error: ValidationError) -> str:
    """The first thing that is wrong with a document, and where it is."""
    found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part)[:40] for part in found["loc"])
    return f"{where}: {found['msg']}" if where else found["msg"]
