// SPDX-License-Identifier: Apache-2.0
#include "work_units.h"

#include "burst_cost.h"
#include "bursts.h"
#include "instruction_facts.h"
#include "recorder.h"

namespace numascape {
namespace {

constexpr uint32_t kIterationsPerTest = 16;
constexpr int64_t kMaxStep = 1 << 20;

bool flags_dead_at_start(instrlist_t* block) {
    uint32_t live = EFLAGS_READ_ARITH;
    for (instr_t* i = instrlist_first_app(block); i != nullptr; i = instr_get_next_app(i)) {
        const FlagUse use = flag_use(i);
        if ((use.reads & live) != 0) {
            return false;
        }
        live &= ~use.writes;
        if (live == 0) {
            return true;
        }
    }
    return false;
}

// By how much the instruction increases the register; 0: it does something else.
int64_t step_of(instr_t* instruction, reg_id_t reg) {
    if (instr_num_dsts(instruction) != 1 || !opnd_is_reg(instr_get_dst(instruction, 0)) ||
        opnd_get_reg(instr_get_dst(instruction, 0)) != reg) {
        return 0;
    }
    switch (instr_get_opcode(instruction)) {
        case OP_inc:
            return 1;
        case OP_dec:
            return -1;
        case OP_add:
        case OP_sub: {
            const opnd_t by = instr_get_src(instruction, 0);
            if (!opnd_is_immed_int(by)) {
                return 0;
            }
            const int64_t step = opnd_get_immed_int(by);
            return instr_get_opcode(instruction) == OP_add ? step : -step;
        }
        case OP_lea: {
            const opnd_t sum = instr_get_src(instruction, 0);
            return opnd_get_base(sum) == reg && opnd_get_index(sum) == DR_REG_NULL
                       ? opnd_get_disp(sum)
                       : 0;
        }
        default:
            return 0;
    }
}

// The step of a register that changes once in the block; 0: there is no such step.
int64_t only_step(instrlist_t* block, reg_id_t reg) {
    int64_t step = 0;
    for (instr_t* i = instrlist_first_app(block); i != nullptr; i = instr_get_next_app(i)) {
        if (instr_writes_to_reg(i, reg, DR_QUERY_INCLUDE_ALL)) {
            const int64_t here = step_of(i, reg);
            if (here == 0 || step != 0) {
                return 0;
            }
            step = here;
        }
    }
    return step;
}

bool power_of_two(int64_t number) {
    return number > 0 && (number & (number - 1)) == 0;
}

// A loop of one block: units are counted together if a register has equal steps.
WorkUnit unit_of_loop(instrlist_t* block) {
    for (instr_t* i = instrlist_first_app(block); i != nullptr; i = instr_get_next_app(i)) {
        if (instr_num_dsts(i) != 1 || !opnd_is_reg(instr_get_dst(i, 0))) {
            continue;
        }
        const reg_id_t reg = opnd_get_reg(instr_get_dst(i, 0));
        if (!reg_is_gpr(reg) || !(reg_is_64bit(reg) || reg_is_32bit(reg)) || step_of(i, reg) == 0) {
            continue;
        }
        const int64_t step = only_step(block, reg);
        const int64_t size = step < 0 ? -step : step;
        if (power_of_two(size) && size <= kMaxStep) {
            return {kIterationsPerTest, reg,
                    static_cast<uint32_t>(size * (kIterationsPerTest - 1))};
        }
    }
    return {1, DR_REG_NULL, 0};
}

}  // namespace

WorkUnit find_work_unit(instrlist_t* block, app_pc start) {
    const WorkUnit none{0, DR_REG_NULL, 0};
    instr_t* last = instrlist_last_app(block);
    if (last == nullptr || !instr_is_cti(last) || instr_is_return(last)) {
        return none;
    }
    app_pc target = nullptr;
    if (!instr_is_mbr(last) && opnd_is_pc(instr_get_target(last))) {
        target = opnd_get_pc(instr_get_target(last));
    }
    const app_pc pc = instr_get_app_pc(last);
    const bool may_repeat = instr_is_mbr(last) || pc < start || (target != nullptr && target <= pc);
    if (!may_repeat || !flags_dead_at_start(block)) {
        return none;
    }
    return target == start && instr_is_cbr(last) ? unit_of_loop(block)
                                                 : WorkUnit{1, DR_REG_NULL, 0};
}

void insert_work_unit(const Emitter& emit, const WorkUnit& unit, app_pc start,
                      void (*ran_out)(app_pc start, uint64_t units)) {
    void* dc = emit.drcontext;
    instr_t* done = INSTR_CREATE_label(dc);
    if (unit.reg != DR_REG_NULL) {
        const reg_id_t reg = reg_64_to_32(reg_to_pointer_sized(unit.reg));
        emit.add(INSTR_CREATE_test(dc, opnd_create_reg(reg),
                                   OPND_CREATE_INT32(static_cast<int>(unit.mask))));
        emit.add(INSTR_CREATE_jcc(dc, OP_jnz, emit.label(done)));
    }
    emit.add(INSTR_CREATE_sub(dc, thread_slot(dc, ThreadSlot::kUnits),
                              OPND_CREATE_INT8(static_cast<int>(unit.units))));
    emit.add(INSTR_CREATE_jcc(dc, OP_jns, emit.label(done)));
    dr_insert_clean_call(dc, emit.block, emit.where, reinterpret_cast<void*>(ran_out), false, 2,
                         OPND_CREATE_INTPTR(start),
                         OPND_CREATE_INT32(static_cast<int>(unit.units)));
    emit.add(done);
}

void count_indirect_jump(const Emitter& emit) {
    if (!holds_cost() || !instr_is_mbr(emit.where) || builds_plain_block(emit.drcontext)) {
        return;
    }
    void* dc = emit.drcontext;
    const opnd_t counter = emit.reg(DR_REG_R10);
    const opnd_t kept = thread_slot(dc, ThreadSlot::kIndirectRegister);
    emit.add(INSTR_CREATE_mov_st(dc, kept, counter));
    load_thread_slot(dc, emit.block, emit.where, ThreadSlot::kIndirect, DR_REG_R10);
    emit.add(INSTR_CREATE_lea(dc, counter,
                              opnd_create_base_disp(DR_REG_R10, DR_REG_NULL, 0, 1, OPSZ_lea)));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kIndirect), counter));
    emit.add(INSTR_CREATE_mov_ld(dc, counter, kept));
}

}  // namespace numascape
