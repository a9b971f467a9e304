# SPDX-License-Identifier: Apache-2.0
"""Describes the differences between two runs of a block."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from fuzz.instructions.layout import GENERAL

Row = np.void
_FLAGS: Final = 0xCD5  # CF, PF, AF, ZF, SF, DF, OF
_MAX_FAULTS: Final = 2


def _registers(name: str, native: Row, other: Row, undefined: int) -> Iterator[str]:
    for number, register in enumerate(GENERAL):
        a, b = int(native["gpr"][number]), int(other["gpr"][number])
        if a != b:
            yield f"{name}{register}: {a:#x}, recorded {b:#x}"
    a, b = int(native["flags"]) & _FLAGS & ~undefined, int(other["flags"]) & _FLAGS & ~undefined
    if a != b:
        yield f"{name}flags: {a:#x}, recorded {b:#x}"


def _vectors(name: str, native: Row, other: Row) -> Iterator[str]:
    for field in ("mxcsr", "control", "status", "tags"):
        if native[field] != other[field]:
            yield f"{name}{field}: {int(native[field]):#x}, recorded {int(other[field]):#x}"
    for number in np.flatnonzero(native["k"] != other["k"]):
        a, b = int(native["k"][number]), int(other["k"][number])
        yield f"{name}k{number}: {a:#x}, recorded {b:#x}"
    for field, register in (("st", "st"), ("zmm", "zmm")):
        rows: npt.NDArray[np.bool_] = (native[field] != other[field]).any(axis=1)
        for number in np.flatnonzero(rows):
            native_hex, other_hex = (bytes(row[field][number]).hex() for row in (native, other))
            yield f"{name}{register}{number}: {native_hex}, recorded {other_hex}"


def _memory(native: Row, other: Row) -> Iterator[str]:
    for at in np.flatnonzero(native["memory"] != other["memory"])[:8]:
        a, b = int(native["memory"][at]), int(other["memory"][at])
        yield f"memory at {at:#x}: {a:#04x}, recorded {b:#04x}"


def differences(native: Row, other: Row, undefined: int) -> list[str]:
    """Return the differences of a block's end and faults; `undefined`: flags that may differ."""
    if native["faults"] != other["faults"]:
        signals = [int(run["fault"][0]["signal"]) for run in (native, other)]
        return [f"faults: {native['faults']}, recorded {other['faults']}; signals {signals}"]
    found: list[str] = []
    for number in range(min(int(native["faults"]), _MAX_FAULTS)):
        a, b = native["fault"][number], other["fault"][number]
        name = f"fault {number}: "
        found += [
            f"{name}{field}: {int(a[field]):#x}, recorded {int(b[field]):#x}"
            for field in ("signal", "code", "trap", "error", "address")
            if a[field] != b[field]
        ]
        if a["registers"]["rip"] != b["registers"]["rip"]:
            found.append(f"{name}rip: {int(a['registers']['rip']):#x}, "
                         f"recorded {int(b['registers']['rip']):#x}")  # fmt: skip
        found += _registers(name, a["registers"], b["registers"], undefined)
        found += _vectors(name, a["vectors"], b["vectors"])
    found += _registers("", native["registers"], other["registers"], undefined)
    found += _vectors("", native["vectors"], other["vectors"])
    found += _memory(native, other)
    return found
