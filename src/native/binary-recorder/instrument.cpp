// SPDX-License-Identifier: Apache-2.0
//
// Inserts the counting code. For a group of accesses that lies in one page:
//
//     lea   a, [lowest address]
//     lea   b, [a + span - 1]        only when the group could straddle a page boundary;
//     xor   b, a                     a single aligned access needs just `test a, size - 1`
//     test  b, 0x1000
//     jnz   count_each
//     shr   a, 8                     a = slot offset: 16 bytes per page of the 2^40 window,
//     and   a32, -16                 cut to 32 bits by the 32-bit operation
//     sub   qword [table + a], reads
//     jc    touch                    the slot was 0: this thread's first read of the page
//     sub   qword [table + a + 8], writes
#include <new>

#include "access_groups.h"
#include "dr_api.h"
#include "drmgr.h"
#include "drreg.h"
#include "drutil.h"
#include "drx.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

int plan_index = -1;

struct Emitter {
    void* drcontext;
    instrlist_t* block;
    instr_t* where;

    void add(instr_t* instruction) const { instrlist_meta_preinsert(block, where, instruction); }
    static opnd_t reg(reg_id_t which) { return opnd_create_reg(which); }
    static opnd_t reg32(reg_id_t which) { return opnd_create_reg(reg_64_to_32(which)); }
    static opnd_t label(instr_t* which) { return opnd_create_instr(which); }
};

const GroupInfo* describe_group(const BlockPlan& plan, const AccessGroup& group) {
    const uint32_t count = group.reads + group.writes;
    auto* info =
        static_cast<GroupInfo*>(permanent(sizeof(GroupInfo) + (count - 1) * sizeof(GroupAccess)));
    info->accesses = 0;
    for (uint32_t i = group.first_access; i != kNoAccess; i = plan.access[i].next) {
        const PlannedAccess& access = plan.access[i];
        info->access[info->accesses++] = {access.pc,
                                          static_cast<uint16_t>(access.offset - group.low),
                                          static_cast<uint16_t>(access.bytes), access.write};
    }
    return info;
}

// `argument` holds the argument and is overwritten.
void leave_for(const Emitter& emit, app_pc code, const GroupInfo* group, reg_id_t argument,
               instr_t* back) {
    void* dc = emit.drcontext;
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(argument)));
    instrlist_insert_mov_immed_ptrsz(dc, reinterpret_cast<ptr_int_t>(group), emit.reg(argument),
                                     emit.block, emit.where, nullptr, nullptr);
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kGroup), emit.reg(argument)));
    instrlist_insert_mov_instr_addr(dc, back, nullptr, emit.reg(argument), emit.block, emit.where,
                                    nullptr, nullptr);
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kReturn), emit.reg(argument)));
    emit.add(INSTR_CREATE_jmp(dc, opnd_create_pc(code)));
}

enum class Straddle { kNever, kWhenUnaligned, kByAddress };

Straddle straddle_of(const AccessGroup& group) {
    const int64_t span = group.high - group.low;
    if (span == 1) {
        return Straddle::kNever;
    }
    const bool power_of_two = (span & (span - 1)) == 0;
    return power_of_two && span <= 8 ? Straddle::kWhenUnaligned : Straddle::kByAddress;
}

bool static_within_page(const AccessGroup& group) {
    return group.is_static && group.low >> kPageShift == (group.high - 1) >> kPageShift;
}

void insert_address(const Emitter& emit, const AccessGroup& group, reg_id_t into,
                    reg_id_t scratch) {
    void* dc = emit.drcontext;
    if (group.is_static) {
        instrlist_insert_mov_immed_ptrsz(dc, static_cast<ptr_int_t>(group.low), emit.reg(into),
                                         emit.block, emit.where, nullptr, nullptr);
        return;
    }
    // drreg may still keep the flags or an earlier scratch value in one of the address's registers.
    drreg_restore_app_values(dc, emit.block, emit.where, group.operand, nullptr);
    const int64_t displacement = group.low - group.first_offset;
    if (group.plain) {
        const opnd_t op = group.operand;
        emit.add(INSTR_CREATE_lea(
            dc, emit.reg(into),
            opnd_create_base_disp(opnd_get_base(op), opnd_get_index(op), opnd_get_scale(op),
                                  opnd_get_disp(op) + static_cast<int>(displacement), OPSZ_lea)));
        return;
    }
    const bool done =
        drutil_insert_get_mem_addr(dc, emit.block, emit.where, group.operand, into, scratch);
    DR_ASSERT(done);
    (void)done;
}

void insert_counting(const Emitter& emit, const BlockPlan& plan, const AccessGroup& group,
                     reg_id_t table, reg_id_t a, reg_id_t b) {
    void* dc = emit.drcontext;
    const GroupInfo* info = describe_group(plan, group);
    instr_t* straddles = INSTR_CREATE_label(dc);
    instr_t* done = INSTR_CREATE_label(dc);
    Straddle straddle = straddle_of(group);
    if (static_within_page(group)) {
        straddle = Straddle::kNever;
        const uint64_t slot = uint64_t{window_page(static_cast<uint64_t>(group.low))} * 16;
        emit.add(
            INSTR_CREATE_mov_imm(dc, emit.reg32(a), OPND_CREATE_INT32(static_cast<int>(slot))));
    } else {
        insert_address(emit, group, a, b);
    }
    const int span = static_cast<int>(group.high - group.low);
    if (straddle == Straddle::kWhenUnaligned) {
        emit.add(INSTR_CREATE_test(dc, opnd_create_reg(reg_resize_to_opsz(a, OPSZ_1)),
                                   OPND_CREATE_INT8(span - 1)));
        emit.add(INSTR_CREATE_jcc(dc, OP_jnz, emit.label(straddles)));
    } else if (straddle == Straddle::kByAddress) {
        emit.add(INSTR_CREATE_lea(dc, emit.reg(b),
                                  opnd_create_base_disp(a, DR_REG_NULL, 0, span - 1, OPSZ_lea)));
        emit.add(INSTR_CREATE_xor(dc, emit.reg32(b), emit.reg32(a)));
        emit.add(INSTR_CREATE_test(dc, emit.reg32(b), OPND_CREATE_INT32(kPageBytes)));
        emit.add(INSTR_CREATE_jcc(dc, OP_jnz, emit.label(straddles)));
    }
    if (!static_within_page(group)) {
        emit.add(INSTR_CREATE_shr(dc, emit.reg(a), OPND_CREATE_INT8(kPageShift - 4)));
        emit.add(INSTR_CREATE_and(dc, emit.reg32(a), OPND_CREATE_INT8(-16)));
    }
    const auto subtract = [&](int displacement, uint32_t count) {
        const opnd_t slot = opnd_create_base_disp(table, a, 1, displacement, OPSZ_8);
        emit.add(INSTR_CREATE_sub(dc, slot,
                                  count < 128 ? OPND_CREATE_INT8(static_cast<int>(count))
                                              : OPND_CREATE_INT32(static_cast<int>(count))));
    };
    // The second subtraction does not change the carry that matters: with both kinds, a page this
    // thread never used has both counters zero, so the last one tells.
    if (group.reads != 0) {
        subtract(0, group.reads);
    }
    if (group.writes != 0) {
        subtract(8, group.writes);
    }
    emit.add(INSTR_CREATE_jcc(dc, OP_jnb, emit.label(done)));
    leave_for(emit, out_of_line_touch(), info, a, done);
    if (straddle != Straddle::kNever) {
        emit.add(straddles);
        leave_for(emit, out_of_line_count(), info, a, done);
    } else {
        instr_destroy(dc, straddles);
    }
    emit.add(done);
}

// Registers that hold addresses stay the program's: every group's operand must be readable at any
// point of the block.
bool reserve(const Emitter& emit, uint32_t excluded, reg_id_t& out) {
    drvector_t allowed;
    drreg_init_and_fill_vector(&allowed, true);
    for (uint32_t bit = 0; bit < 16; ++bit) {
        if ((excluded >> bit & 1) != 0) {
            drreg_set_vector_entry(&allowed, static_cast<reg_id_t>(DR_REG_START_64 + bit), false);
        }
    }
    const drreg_status_t status =
        drreg_reserve_register(emit.drcontext, emit.block, emit.where, &allowed, &out);
    drvector_delete(&allowed);
    return status == DRREG_SUCCESS;
}

void release(const Emitter& emit, reg_id_t reg) {
    const drreg_status_t status =
        drreg_unreserve_register(emit.drcontext, emit.block, emit.where, reg);
    DR_ASSERT(status == DRREG_SUCCESS);
    (void)status;
}

uint32_t registers_of(opnd_t operand) {
    uint32_t bits = 0;
    for (int i = 0; i < opnd_num_regs_used(operand); ++i) {
        uint32_t bit = 0;
        if (general_register(reg_to_pointer_sized(opnd_get_reg_used(operand, i)), bit)) {
            bits |= 1u << bit;
        }
    }
    return bits;
}

void insert_group(const Emitter& emit, BlockPlan& plan, const AccessGroup& group) {
    void* dc = emit.drcontext;
    const bool last = plan.next_group == plan.groups;
    uint32_t excluded = registers_of(group.operand);
    reg_id_t table = plan.table_register;
    if (table == DR_REG_NULL) {
        // Kept to the last group of the block when a register can be spared for that long.
        // Not one that the program writes meanwhile: drreg loses a reserved register's value where
        // the program overwrites it with one that nobody reads.
        const bool keep = !last && plan.straight &&
                          reserve(emit, plan.address_registers | plan.written_registers, table);
        if (!keep && !reserve(emit, excluded, table)) {
            DR_ASSERT_MSG(false, "no register for the table");
            return;
        }
        load_thread_slot(dc, emit.block, emit.where, ThreadSlot::kTable, table);
        if (keep) {
            plan.table_register = table;
        }
    }
    const bool needs_second =
        !static_within_page(group) && (straddle_of(group) == Straddle::kByAddress || !group.plain);
    reg_id_t a = DR_REG_NULL;
    reg_id_t b = DR_REG_NULL;
    bool ready = drreg_reserve_aflags(dc, emit.block, emit.where) == DRREG_SUCCESS &&
                 reserve(emit, excluded, a) && (!needs_second || reserve(emit, excluded, b));
    DR_ASSERT_MSG(ready, "no scratch register");
    insert_counting(emit, plan, group, table, a, b);
    if (b != DR_REG_NULL) {
        release(emit, b);
    }
    release(emit, a);
    drreg_unreserve_aflags(dc, emit.block, emit.where);
    if (plan.table_register == DR_REG_NULL) {
        release(emit, table);
    } else if (last) {
        release(emit, table);
        plan.table_register = DR_REG_NULL;
    }
}

dr_emit_flags_t expand(void* drcontext, void*, instrlist_t* block, bool, bool) {
    bool early_exit_string = false;
    for (instr_t* i = instrlist_first_app(block); i != nullptr; i = instr_get_next_app(i)) {
        const int opcode = instr_get_opcode(i);
        early_exit_string |= opcode == OP_rep_cmps || opcode == OP_repne_cmps ||
                             opcode == OP_rep_scas || opcode == OP_repne_scas;
    }
    if (early_exit_string) {
        drutil_expand_rep_string(drcontext, block);
    }
    drx_expand_scatter_gather(drcontext, block, nullptr);
    return DR_EMIT_DEFAULT;
}

dr_emit_flags_t analyse(void* drcontext, void*, instrlist_t* block, bool, bool, void** user_data) {
    auto* plan = static_cast<BlockPlan*>(drmgr_get_tls_field(drcontext, plan_index));
    plan_block(block, options.count_stack, *plan);
    *user_data = plan;
    return DR_EMIT_DEFAULT;
}

dr_emit_flags_t insert(void* drcontext, void*, instrlist_t* block, instr_t* where, bool, bool,
                       void* user_data) {
    auto* plan = static_cast<BlockPlan*>(user_data);
    const Emitter emit{drcontext, block, where};
    while (plan->next_group < plan->groups && plan->group[plan->next_group].first == where) {
        const AccessGroup& group = plan->group[plan->next_group++];
        insert_group(emit, *plan, group);
    }
    switch (special_access(where)) {
        case SpecialAccess::kNone:
            break;
        case SpecialAccess::kRepeatedString:
            insert_repeated_string(drcontext, block, where);
            break;
        case SpecialAccess::kMasked:
            insert_masked(drcontext, block, where);
            break;
    }
    return DR_EMIT_DEFAULT;
}

// A thread builds one block at a time: its plan's memory is used again and again.
void thread_started(void* drcontext) {
    drmgr_set_tls_field(drcontext, plan_index, os::map_sparse(sizeof(BlockPlan)));
}

void thread_ended(void* drcontext) {
    os::unmap(drmgr_get_tls_field(drcontext, plan_index), sizeof(BlockPlan));
}

}  // namespace

void instrument_init() {
    drreg_options_t registers = {};
    registers.struct_size = sizeof registers;
    registers.num_spill_slots = 5;
    drreg_init(&registers);
    drutil_init();
    drx_init();
    plan_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
    drmgr_priority_t priority = {sizeof priority, "numascape", nullptr, nullptr, 0};
    drmgr_register_bb_app2app_event(expand, &priority);
    drmgr_register_bb_instrumentation_event(analyse, insert, &priority);
}

void instrument_exit() {
    drmgr_unregister_bb_app2app_event(expand);
    drmgr_unregister_bb_instrumentation_event(analyse);
    drx_exit();
    drutil_exit();
    drreg_exit();
}

}  // namespace numascape
