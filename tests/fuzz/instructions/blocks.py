# SPDX-License-Identifier: Apache-2.0
"""Random blocks: a seed and a number make the same block each time, for the same set of forms."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from iced_x86 import BlockEncoder, Code, Instruction, MemoryOperand, Register

from fuzz.instructions.builder import FULL, RSP, Builder, CannotMakeError, sized
from fuzz.instructions.forms import Form
from fuzz.instructions.layout import (
    CODE_START,
    GUARD_AND_LEAVE,
    GUARD_AND_RETRY,
    GUARD_PAGE,
    NO_GUARD,
    PAGE,
    logged_start,
)
from fuzz.instructions.operands import append_form
from fuzz.instructions.templates import COUNTER_BRANCHES, LOOPS, RCX, TEMPLATES, Template
from fuzz.instructions.traps import with_traps

_FAMILIES: Final = {"general": 30, "sse": 16, "x87": 5, "vex": 14, "evex": 22}
_TEMPLATE_WEIGHT: Final = 22
_BRANCH_WEIGHT: Final = 5
_FAULT_SHARE: Final = 0.12
_TRIES: Final = 40
_CONDITIONS: Final = (
    Code.JO_REL32_64, Code.JNO_REL32_64, Code.JB_REL32_64, Code.JAE_REL32_64, Code.JE_REL32_64,
    Code.JNE_REL32_64, Code.JBE_REL32_64, Code.JA_REL32_64, Code.JS_REL32_64, Code.JNS_REL32_64,
    Code.JP_REL32_64, Code.JNP_REL32_64, Code.JL_REL32_64, Code.JGE_REL32_64, Code.JLE_REL32_64,
    Code.JG_REL32_64,
)  # fmt: skip
_FLAGS: Final = {0x01: 0x800, 0x02: 0x80, 0x04: 0x40, 0x08: 0x10, 0x10: 0x01, 0x20: 0x04}


@dataclass(frozen=True)
class Block:
    """Code that ends with a jump to CODE_START, and what it needs to begin with."""

    code: bytes
    logged: bytes  # the same, with traps at its accesses
    gpr: list[int]
    indices: dict[int, int]  # vector registers with indices, and the bytes of an index
    guard: int
    undefined: int  # flags that have no defined values after the block


@dataclass(frozen=True)
class Repertoire:
    """The forms and templates for blocks on a machine."""

    forms: dict[str, list[Form]]  # by family
    templates: list[Template]
    template_weights: list[int]  # cumulative: each includes those before it
    families: list[str]  # "": templates
    family_weights: list[int]

    @classmethod
    def of(cls, forms: Sequence[Form], templates: Sequence[Template]) -> "Repertoire":
        """Return the forms and templates that are possible with these."""
        families: dict[str, list[Form]] = {}
        for form in forms:
            families.setdefault(form.family, []).append(form)
        usable = [(weight, template) for weight, template in TEMPLATES if template in templates]
        names = [name for name in _FAMILIES if name in families]
        return cls(
            families,
            [template for _, template in usable],
            list(accumulate(weight for weight, _ in usable)),
            [*names, ""],
            list(accumulate([*(_FAMILIES[name] for name in names), _TEMPLATE_WEIGHT])),
        )


class _Maker:
    def __init__(self, repertoire: Repertoire, rng: random.Random, number: int) -> None:
        self.repertoire = repertoire
        self.rng = rng
        self.builder = Builder(rng, number)
        self.guard = NO_GUARD

    def attempt(self, add: Callable[[], None]) -> bool:
        """Add instructions, all or none."""
        builder = self.builder
        saved = builder.snapshot()
        try:
            add()
        except CannotMakeError:
            builder.restore(saved)
            return False
        return True

    def one(self) -> None:
        """Add something."""
        repertoire, rng = self.repertoire, self.rng
        for _ in range(_TRIES):
            kind = rng.choices(repertoire.families, cum_weights=repertoire.family_weights)[0]
            if kind:
                form = rng.choice(repertoire.forms[kind])
                done = self.attempt(lambda form=form: append_form(self.builder, form))  # type: ignore[misc]
            else:
                template = rng.choices(
                    repertoire.templates, cum_weights=repertoire.template_weights
                )[0]
                done = self.attempt(lambda template=template: template.add(self.builder))  # type: ignore[misc]
            if done:
                return

    def skipped(self) -> None:
        """Add a branch over some instructions, taken or not."""
        builder, rng = self.builder, self.rng
        if builder.undefined:
            raise CannotMakeError
        end = builder.label()
        if rng.random() < 0.25:
            code = rng.choice(COUNTER_BRANCHES)
            if code in LOOPS:  # it counts in rcx
                if RCX in builder.fixed:
                    raise CannotMakeError
                builder.known.pop(RCX, None)
            builder.add(Instruction.create_branch(code, end))
        else:
            builder.add(Instruction.create_branch(rng.choice(_CONDITIONS), end))
        known, indices = dict(builder.known), dict(builder.indices)
        backward = builder.backward
        for _ in range(rng.randrange(1, 4)):
            self.plain()
        builder.forget_branch(known, indices)
        builder.place(end)
        builder.backward = backward

    def plain(self) -> None:
        """An instruction that changes neither the stack pointer nor the direction of strings."""
        families = self.repertoire.forms
        for _ in range(_TRIES):
            form = self.rng.choice(families[self.rng.choice(list(families))])
            if self.attempt(lambda form=form: append_form(self.builder, form)):  # type: ignore[misc]
                return

    def loop(self) -> None:
        """Some instructions a few times."""
        builder, rng = self.builder, self.rng
        if builder.fixed:
            raise CannotMakeError
        counter = rng.choice([n for n in range(16) if n != RSP and n not in builder.known])
        builder.load(counter, rng.randrange(1, 5))
        del builder.known[counter]
        builder.fixed = {*builder.known, counter}
        head = builder.label()
        builder.place(head)
        for _ in range(rng.randrange(1, 5)):
            self.plain()
        builder.add(Instruction.create_reg(Code.DEC_RM32, sized("R32", counter)))
        builder.add(Instruction.create_branch(Code.JNE_REL32_64, head))
        builder.fixed = set()

    def fault(self) -> None:
        """An instruction that faults."""
        builder, rng = self.builder, self.rng
        guard = builder.arena + GUARD_PAGE * PAGE
        kind = rng.randrange(8)
        if kind == 0:
            builder.add(Instruction.create(Code.UD2))
            return
        if kind == 1:
            builder.load(0, 5)
            builder.load(1, 0)
            builder.add(Instruction.create_reg(Code.DIV_RM32, Register.ECX))
            return
        if kind == 2:
            builder.load(3, 0x0123456789ABCDEF)
            operand = MemoryOperand(FULL[3], displ=16, displ_size=1)
            builder.add(Instruction.create_mem_reg(Code.ADD_RM64_R64, operand, FULL[2]))
            return
        if kind in (3, 4):
            self.string_fault(rng.randrange(3))
            return
        self.guard = rng.choice((GUARD_AND_LEAVE, GUARD_AND_RETRY))
        families = self.repertoire.forms
        for _ in range(4 * _TRIES):
            form = rng.choice(families[rng.choice(list(families))])
            at = guard - rng.randrange(form.bytes + 1) if form.bytes else guard
            if form.touches_memory and self.attempt(
                lambda form=form, at=at: append_form(builder, form, at=at)  # type: ignore[misc]
            ):
                return

    def string_fault(self, kind: int) -> None:
        """Add a repeated string that runs into the inaccessible page."""
        builder, rng = self.builder, self.rng
        guard = builder.arena + GUARD_PAGE * PAGE
        self.guard = rng.choice((GUARD_AND_LEAVE, GUARD_AND_RETRY))
        builder.load(1, 40)
        builder.load(6, guard - rng.randrange(160))
        builder.load(7, guard - rng.randrange(160))
        create = (Instruction.create_rep_movsb, Instruction.create_rep_movsd,
                  Instruction.create_rep_stosd)[kind]  # fmt: skip
        builder.append(create(64))

    def make(self) -> None:
        """Make the whole block."""
        rng = self.rng
        length = rng.choice((1, 2, 4, 6, 8, 12, 20))
        fault = rng.randrange(length) if rng.random() < _FAULT_SHARE else -1
        for at in range(length):
            if at == fault:
                self.attempt(self.fault)
            kind = rng.random() * 100
            if kind < _BRANCH_WEIGHT:
                self.attempt(self.skipped)
            elif kind < 2 * _BRANCH_WEIGHT:
                self.attempt(self.loop)
            else:
                self.one()


def make_block(repertoire: Repertoire, seed: int, number: int, start: int) -> Block:
    """Make the block of this number; its code will be at `start`."""
    rng = random.Random(f"{seed}/{number}")
    maker = _Maker(repertoire, rng, number)
    maker.make()
    return _finish(maker, start)


def _finish(maker: _Maker, start: int) -> Block:
    builder = maker.builder
    builder.add(Instruction.create_branch(Code.JMP_REL32_64, CODE_START))
    undefined = 0
    for bit, flag in _FLAGS.items():
        undefined |= flag if builder.ever_undefined & bit else 0
    encoder = BlockEncoder(64)
    encoder.add_many(builder.instructions)
    code = encoder.encode(start)
    encoder = BlockEncoder(64)
    encoder.add_many(list(with_traps(builder.instructions, builder.label)))
    logged = encoder.encode(logged_start(start))
    return Block(code, logged, builder.gpr, builder.first_indices, maker.guard, undefined)


def _alone(add: Callable[[Builder], None], number: int, start: int) -> Block:
    rng = random.Random(number)
    maker = _Maker(Repertoire.of([], []), rng, number)
    for _ in range(_TRIES):
        if maker.attempt(lambda: add(maker.builder)):
            break
    return _finish(maker, start)


def single(form: Form, number: int, start: int) -> Block:
    """Make a block of one instruction of this form."""
    return _alone(lambda builder: append_form(builder, form), number, start)


def from_template(template: Template, number: int, start: int) -> Block:
    """Make a block of this template's instructions alone."""
    return _alone(template.add, number, start)


def make_with_segments(forms: Sequence[Form], number: int, start: int) -> Block:
    """Make a block of these forms, whose operands in memory have a segment."""
    maker = _Maker(Repertoire.of([], []), random.Random(f"segments/{number}"), number)
    maker.builder.segments = True
    for form in forms:
        for _ in range(_TRIES):
            if maker.attempt(lambda form=form: append_form(maker.builder, form)):  # type: ignore[misc]
                break
    return _finish(maker, start)


def make_with_segment_and_fault(form: Form, number: int, start: int) -> Block:
    """Make a block of this form, whose operand has a segment and faults once."""
    maker = _Maker(Repertoire.of([], []), random.Random(f"faults/{number}"), number)
    builder = maker.builder
    builder.segments = True
    maker.guard = GUARD_AND_RETRY
    at = builder.arena + GUARD_PAGE * PAGE
    maker.attempt(lambda: append_form(builder, form, at=at))
    return _finish(maker, start)


def make_strings_that_fault(number: int, start: int) -> Block:
    """Make a block with a repeated string that runs into an inaccessible page."""
    rng = random.Random(number)
    maker = _Maker(Repertoire.of([], []), rng, number)
    maker.string_fault(number % 3)
    return _finish(maker, start)
