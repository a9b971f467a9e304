# SPDX-License-Identifier: Apache-2.0
"""Finds the forms that this CPU has and DynamoRIO knows, by executing each once."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from iced_x86 import CpuidFeature, Instruction

from fuzz.instructions.blocks import Block, Repertoire, from_template, single
from fuzz.instructions.forms import Form, all_forms, words
from fuzz.instructions.program import Program, Results, build, make_program, run
from fuzz.instructions.templates import TEMPLATES, Template

SIGILL: Final = 4
# DynamoRIO 11.90 does not decode these instructions, although it knows their features: of the 8087,
# reserved prefetches, and half precision.
_UNKNOWN: Final = frozenset({"FNDISI", "FNENI", "FNSETPM", "PREFETCH", "PREFETCHW", "PREFETCHWT1"})
# It must decode all other instructions of these features.
_FEATURES: Final = words(
    """INTEL8086 INTEL186 INTEL286 INTEL386 INTEL486 X64 FPU CMOV CX8 CMPXCHG16B MMX SSE SSE2 SSE3
    SSSE3 SSE4_1 SSE4_2 AES PCLMULQDQ POPCNT LZCNT BMI1 BMI2 ADX MOVBE F16C AVX AVX2 FMA AVX512F
    AVX512CD AVX512BW AVX512DQ AVX512VL AVX512_VBMI AVX512_VBMI2 AVX512_IFMA AVX512_VNNI
    AVX512_BITALG AVX512_VPOPCNTDQ"""
)
_NAMES: Final = {
    getattr(CpuidFeature, name): name for name in dir(CpuidFeature) if not name.startswith("_")
}


def features(form: Form) -> set[str]:
    """Return the names of the CPU's features that the form needs."""
    instruction = Instruction()
    instruction.code = form.code
    return {_NAMES[feature] for feature in instruction.cpuid_features()}


def must_be_known(form: Form) -> bool:
    """Whether a recorder must support the form."""
    return features(form) <= _FEATURES and form.name not in _UNKNOWN


def _probe(folder: Path, forms: Sequence[Form], templates: Sequence[Template]) -> Program:
    makers: list[Callable[[int], Block]] = [
        *(partial(single, form, number) for number, form in enumerate(forms)),
        *(partial(from_template, each, at) for at, each in enumerate(templates, len(forms))),
    ]
    program = make_program(folder, 0, makers)
    build(program)
    return program


def _illegal(results: Results) -> list[bool]:
    return [bool(row["faults"]) and int(row["fault"][0]["signal"]) == SIGILL for row in results]


def probe(folder: Path, before: Sequence[str | Path]) -> tuple[Repertoire, list[Form]]:
    """Return the possible forms for blocks, and those that the recorder `before` refuses."""
    templates = [template for _, template in TEMPLATES]
    program = _probe(folder / "native", all_forms(), templates)
    illegal = _illegal(run(program, "native"))
    forms = [form for form, bad in zip(all_forms(), illegal, strict=False) if not bad]
    usable = [t for t, bad in zip(templates, illegal[len(all_forms()) :], strict=True) if not bad]
    program = _probe(folder / "recorded", forms, usable)
    illegal = _illegal(run(program, "recorded", before))
    refused = [form for form, bad in zip(forms, illegal, strict=False) if bad]
    forms = [form for form, bad in zip(forms, illegal, strict=False) if not bad]
    return Repertoire.of(forms, usable), refused
