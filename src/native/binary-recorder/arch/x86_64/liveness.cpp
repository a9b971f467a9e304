// SPDX-License-Identifier: Apache-2.0
#include "liveness.h"

#include "instruction_facts.h"

namespace numascape {
namespace {

struct Effect {
    RegisterSet reads = 0;
    RegisterSet writes = 0;      // any part
    RegisterSet overwrites = 0;  // the whole register
    uint32_t flags_read = 0;
    uint32_t flags_written = 0;
};

RegisterSet bit_of(reg_id_t reg) {
    uint32_t bit = 0;
    return reg_is_gpr(reg) && general_register(reg_to_pointer_sized(reg), bit) ? 1u << bit : 0;
}

Effect effect_of(instr_t* instruction) {
    Effect effect;
    for (int i = 0; i < instr_num_srcs(instruction); ++i) {
        effect.reads |= registers_of(instr_get_src(instruction, i));
    }
    const bool conditional = !always_writes(instruction);
    for (int i = 0; i < instr_num_dsts(instruction); ++i) {
        const opnd_t dst = instr_get_dst(instruction, i);
        if (!opnd_is_reg(dst)) {
            effect.reads |= registers_of(dst);
            continue;
        }
        const reg_id_t reg = opnd_get_reg(dst);
        const RegisterSet bit = bit_of(reg);
        effect.writes |= bit;
        // Writing 32 bits of a register clears the other bits; writing 8 or 16 bits keeps them.
        const bool whole = reg_is_64bit(reg) || reg_is_32bit(reg);
        if (!conditional && whole) {
            effect.overwrites |= bit;
        }
    }
    const FlagUse flags = flag_use(instruction);
    effect.flags_read = flags.reads;
    effect.flags_written = flags.writes;
    return effect;
}

// Dead flags save four instructions, a dead register two.
bool better_for_head(const DeadRegisters& here, const PlannedHead& known) {
    const auto saved = [](const DeadRegisters& at) {
        return (at.flags_dead ? 2 : 0) + (at.dead != 0 ? 1 : 0);
    };
    return known.instruction == nullptr || saved(here) >= saved(known.dead_registers);
}

}  // namespace

void compute_liveness(BlockPlan& plan) {
    RegisterSet live = ~0u;
    uint32_t flags_live = EFLAGS_READ_ARITH;
    uint32_t group = plan.groups;
    uint32_t special = plan.specials;
    plan.used = kStackPointerBit;
    plan.head = {};
    const bool known = plan.linear && plan.instructions < BlockPlan::kMaxInstructions;
    for (uint32_t at = plan.instructions; at > 0; --at) {
        const Effect effect = effect_of(plan.instruction[at - 1]);
        plan.used |= effect.reads | effect.writes;
        // A signal handler sees all registers, but not all flags; see docs/record.md.
        live =
            may_fault(plan.instruction[at - 1]) ? ~0u : (live & ~effect.overwrites) | effect.reads;
        flags_live = (flags_live & ~effect.flags_written) | effect.flags_read;
        const DeadRegisters dead_registers =
            known ? DeadRegisters{~live & 0xffff & ~kStackPointerBit, flags_live == 0}
                  : DeadRegisters{0, false};
        if (plan.groups + plan.specials == 0 && instr_is_app(plan.instruction[at - 1]) &&
            better_for_head(dead_registers, plan.head)) {
            plan.head = {plan.instruction[at - 1], dead_registers};
        }
        while (group > 0 && plan.group[group - 1].at == at - 1) {
            plan.group[--group].dead_registers = dead_registers;
        }
        while (special > 0 && plan.special[special - 1].at == at - 1) {
            plan.special[--special].dead_registers = dead_registers;
        }
    }
    if (!known) {
        plan.used = 0xffff;
    }
}

}  // namespace numascape
