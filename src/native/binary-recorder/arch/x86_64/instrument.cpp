// SPDX-License-Identifier: Apache-2.0
//
// Inserts the counting code. For a group of accesses that lies in one page:
//
//     lea   a, [lowest address + margin]
//     test  a, 4096 - margin         only if the group may cross a page boundary; for 2, 4 or 8
//     jz    exact look               bytes, there is no margin, and the test is `a, size - 1`.
//                                    Behind this code, another test jumps to slow_paths (carry
//                                    clear: count the accesses to each page)
//     shr   a, 8                     a = counter offset: 16 bytes per page of the 2^40 window,
//     and   a32, -16                 cut to 32 bits by the 32-bit operation
//     sub   qword [table + a], reads
//     sub   qword [table + a + 8], writes
//     jc    slow_paths              (carry set: this thread's first use of the counter)
#include <cstring>

#include "access_groups.h"
#include "burst_cost.h"
#include "bursts.h"
#include "counting_code.h"
#include "dr_api.h"
#include "drmgr.h"
#include "drutil.h"
#include "frame_changes.h"
#include "group_sums.h"
#include "phases.h"
#include "recorder.h"
#include "scratch.h"
#include "thread_memory.h"
#include "traffic.h"
#include "work_units.h"

namespace numascape {
namespace {

int plan_index = -1;

// A block under construction.
struct Block {
    BlockPlan plan;
    BlockScratch scratch;
    WorkUnit unit;
    GroupInfo info;  // of the current group; its further accesses follow in `more`, and its sums
    GroupAccess more[BlockPlan::kMaxAccesses];
    PageSums sums[kMaxSums];
};

ThreadMemory plans(sizeof(Block));

// Whether the address is relative to the thread pointer, with only 64-bit registers.
bool is_of_thread(opnd_t operand) {
    const auto is_general = [](reg_id_t reg) {
        uint32_t bit = 0;
        return reg == DR_REG_NULL || general_register(reg, bit);
    };
    return opnd_is_far_base_disp(operand) && opnd_get_segment(operand) == DR_SEG_FS &&
           is_general(opnd_get_base(operand)) && is_general(opnd_get_index(operand));
}

GroupAddress address_of(const AccessGroup& group) {
    if (group.is_static) {
        return {group.low, GroupAddress::kNone, GroupAddress::kNone, 0, true, false, false};
    }
    const bool of_thread = is_of_thread(group.operand);
    if (!group.plain && !of_thread) {
        return {};
    }
    const auto number = [](reg_id_t reg) {
        uint32_t bit = GroupAddress::kNone;
        return static_cast<uint8_t>(general_register(reg, bit) ? bit : GroupAddress::kNone);
    };
    return {opnd_get_disp(group.operand) + group.low - group.first_offset,
            number(opnd_get_base(group.operand)),
            number(opnd_get_index(group.operand)),
            static_cast<uint8_t>(opnd_get_scale(group.operand)),
            true,
            !group.dead_registers.flags_dead,
            of_thread};
}

const GroupInfo* describe_group(Block& block, uint32_t number, FramePointerAt frame_pointer) {
    const BlockPlan& plan = block.plan;
    const AccessGroup& group = plan.group[number];
    const uint32_t count = group.reads + group.writes;
    const auto span = static_cast<uint64_t>(group.high - group.low);
    const size_t bytes = sizeof(GroupInfo) + (count - 1) * sizeof(GroupAccess) +
                         kept_sums(count, span) * sizeof(PageSums);
    GroupInfo* info = &block.info;
    memset(static_cast<void*>(info), 0, bytes);
    info->place.pc = plan.access[group.first_access].pc;
    info->place.site = group_site(block.scratch.number, number);
    info->place.frame_pointer = frame_pointer;
    info->address = address_of(group);
    __builtin_clear_padding(&info->address);
    for (uint32_t i = group.first_access; i != kNoAccess; i = plan.access[i].next) {
        const PlannedAccess& access = plan.access[i];
        GroupAccess& described = info->access[info->accesses++];
        described.pc = access.pc;
        described.offset = static_cast<uint16_t>(access.offset - group.low);
        described.bytes = static_cast<uint16_t>(access.bytes);
        described.write = access.write;
    }
    keep_sums(*info, span);
    return static_cast<const GroupInfo*>(keep_value(info, bytes));
}

bool in_one_page(const AccessGroup& group) {
    return group.is_static && group.low >> kPageShift == (group.high - 1) >> kPageShift;
}

PageCrossing page_crossing_of(const AccessGroup& group) {
    const int64_t span = group.high - group.low;
    if (span == 1 || in_one_page(group)) {
        return PageCrossing::kNever;
    }
    const bool power_of_two = (span & (span - 1)) == 0;
    return power_of_two && span <= 8 ? PageCrossing::kWhenUnaligned : PageCrossing::kByAddress;
}

void insert_distance(const Emitter& emit, reg_id_t a, int distance) {
    emit.add(INSTR_CREATE_lea(emit.drcontext, emit.reg(a),
                              opnd_create_base_disp(a, DR_REG_NULL, 0, distance, OPSZ_lea)));
}

// `a` = the group's lowest address + `margin`.
void insert_group_address(const Emitter& emit, const AccessGroup& group, int margin, reg_id_t a,
                          reg_id_t b) {
    if (in_one_page(group)) {
        const uint64_t counter = uint64_t{window_page(static_cast<uint64_t>(group.low))} * 16;
        emit.add(INSTR_CREATE_mov_imm(emit.drcontext, emit.reg32(a),
                                      OPND_CREATE_INT32(static_cast<int>(counter))));
    } else if (group.is_static) {
        instrlist_insert_mov_immed_ptrsz(emit.drcontext, static_cast<ptr_int_t>(group.low) + margin,
                                         emit.reg(a), emit.block, emit.where, nullptr, nullptr);
    } else if (group.plain) {
        const opnd_t op = group.operand;
        const int64_t low = opnd_get_disp(op) + group.low - group.first_offset;
        const bool fits = low + margin == static_cast<int32_t>(low + margin);
        emit.add(INSTR_CREATE_lea(
            emit.drcontext, emit.reg(a),
            opnd_create_base_disp(opnd_get_base(op), opnd_get_index(op), opnd_get_scale(op),
                                  static_cast<int>(fits ? low + margin : low), OPSZ_lea)));
        if (!fits) {
            insert_distance(emit, a, margin);
        }
    } else {
        insert_address_of(emit, group.operand, a, b);
        if (margin != 0) {
            insert_distance(emit, a, margin);
        }
    }
}

// Whether the address of the group is computed in two registers.
bool needs_second(const AccessGroup& group) {
    return !group.plain && !group.is_static;
}

void insert_leaving(const Emitter& emit, const GroupInfo* info, reg_id_t table, reg_id_t a,
                    instr_t* done) {
    void* dc = emit.drcontext;
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kSecond), emit.reg(table)));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(a)));
    emit_slow_path_jump(emit, slow_paths.group, info, a, done);
}

void insert_group(const Emitter& emit, Block& block, uint32_t number, bool last) {
    void* dc = emit.drcontext;
    const AccessGroup& group = block.plan.group[number];
    const PageCrossing page_crossing = page_crossing_of(group);
    PlaceScratch scratch(emit, block.scratch, group.dead_registers, registers_of(group.operand));
    const reg_id_t a = scratch.take(Role::kAddress);
    const reg_id_t b = needs_second(group) ? scratch.take(Role::kSecond) : reg_id_t{DR_REG_NULL};
    const auto span = static_cast<int>(group.high - group.low);
    // The probes of lines need the address itself, and use the second register anyway.
    const bool with_margin = page_crossing == PageCrossing::kByAddress && !traffic();
    const int margin = with_margin ? crossing_margin(span) : 0;
    insert_group_address(emit, group, margin, a, b);
    const reg_id_t table = scratch.take_table();
    if (traffic()) {
        scratch.take(Role::kSecond);
        scratch.take(Role::kLine);
    }
    const GroupInfo* info = describe_group(block, number, scratch.frame_pointer());
    scratch.save_flags();
    instr_t* leave = INSTR_CREATE_label(dc);
    instr_t* second_look = INSTR_CREATE_label(dc);
    instr_t* one_page = INSTR_CREATE_label(dc);
    instr_t* done = INSTR_CREATE_label(dc);
    if (traffic()) {
        insert_group_probes(emit, scratch, block.plan, group, info, a);
    }
    if (with_margin) {
        insert_margin_check(emit, margin, a, second_look);
    } else if (page_crossing == PageCrossing::kByAddress) {
        insert_page_crossing_check(emit, span, a, scratch.take(Role::kSecond), leave);
    } else if (page_crossing == PageCrossing::kWhenUnaligned) {
        insert_alignment_check(emit, span, a, second_look);
    }
    emit.add(one_page);
    if (!in_one_page(group)) {
        insert_counter_offset(emit, a);
    }
    // If the group reads and writes, the last carry is enough: on a page that this thread never
    // used, both counters are zero.
    if (group.reads != 0) {
        insert_subtraction(emit, table, a, false, group.reads);
    }
    if (group.writes != 0) {
        insert_subtraction(emit, table, a, true, group.writes);
    }
    emit.add(INSTR_CREATE_jcc(dc, OP_jnb, emit.label(done)));
    emit.add(leave);
    insert_leaving(emit, info, table, a, done);
    emit.add(second_look);
    if (page_crossing == PageCrossing::kWhenUnaligned) {
        // So far, only the first line of the access was looked up. The slow path looks up the
        // second one.
        const int unit = static_cast<int>(traffic() ? line_bytes() : kPageBytes);
        insert_second_look(emit, span, unit, a, one_page, leave);
    } else if (with_margin) {
        insert_exact_look(emit, span, margin, a, one_page, leave);
    }
    emit.add(done);
    scratch.restore(last);
}

// Counts a block that has no counted accesses.
void insert_head(const Emitter& emit, Block& block) {
    PlaceScratch scratch(emit, block.scratch, block.plan.head.dead_registers, 0);
    scratch.save_flags();
    scratch.restore(true);
}

// Accesses after a mark are counted in its phase, and in the region that it names, so they are not
// counted together with those before it. The same holds for a large frame.
void end_block_after(void* drcontext, instrlist_t* block, instr_t* last) {
    while (instr_t* next = instr_get_next(last)) {
        instrlist_remove(block, next);
        instr_destroy(drcontext, next);
    }
}

dr_emit_flags_t expand(void* drcontext, void*, instrlist_t* block, bool, bool) {
    start_wanted_clock();
    cost_block_begins();
    for (instr_t* i = instrlist_first_app(block); i != nullptr; i = instr_get_next_app(i)) {
        const int opcode = instr_get_opcode(i);
        if (opcode == OP_rep_cmps || opcode == OP_repne_cmps || opcode == OP_rep_scas ||
            opcode == OP_repne_scas) {
            // Their number of elements depends on the data: each becomes a loop in its own block.
            if (i == instrlist_first_app(block)) {
                drutil_expand_rep_string(drcontext, block);
            } else {
                end_block_after(drcontext, block, instr_get_prev(i));
            }
            break;
        }
        if (is_mark(i) || changes_large_frame(i)) {
            end_block_after(drcontext, block, i);
            break;
        }
    }
    return DR_EMIT_DEFAULT;
}

// The roles besides address and table that places of the block need.
BlockNeeds needs_of(const BlockPlan& plan) {
    BlockNeeds needs{false, plan.specials != 0 || traffic()};
    for (uint32_t i = 0; i < plan.groups; ++i) {
        needs.flags |= !plan.group[i].dead_registers.flags_dead;
        needs.second |= needs_second(plan.group[i]);
    }
    return needs;
}

dr_emit_flags_t analyse(void* drcontext, void* tag, instrlist_t* block, bool, bool,
                        void** user_data) {
    auto* state = static_cast<Block*>(drmgr_get_tls_field(drcontext, plan_index));
    *user_data = state;
    if (bursts()) {
        state->unit = find_work_unit(block, dr_fragment_app_pc(tag));
    }
    if (builds_plain_block(drcontext)) {
        state->plan.groups = state->plan.specials = 0;
        state->plan.next_group = state->plan.next_special = 0;
        state->plan.head = {};
        return DR_EMIT_DEFAULT;
    }
    plan_block(block, dr_fragment_app_pc(tag), options.count_stack, state->plan);
    if (in_return_stub(dr_fragment_app_pc(tag))) {
        state->plan.groups = state->plan.specials = 0;  // our own code
        state->plan.head = {};
    }
    state->scratch = choose_block_scratch(state->plan, needs_of(state->plan));
    state->scratch.number =
        options.source_lines ? number_block(drcontext, tag, state->plan) : kNoBlock;
    state->scratch.head = state->scratch.number;
    return DR_EMIT_DEFAULT;
}

// At the first instruction of a function, and where it has returned to, r10, r11 and the flags hold
// no value that the program needs (System V ABI).
void insert_function_hook(const Emitter& emit, app_pc start) {
    void* dc = emit.drcontext;
    instr_t* done = INSTR_CREATE_label(dc);
    if (in_return_stub(start)) {
        emit_slow_path_jump(
            emit,
            in_region_stub(start) ? slow_paths.region_returned : slow_paths.allocation_returned,
            nullptr, DR_REG_R11, done);
    } else if (const FunctionHook* hook = function_hook(start)) {
        if (hook->kind == Hooked::kFree) {
            // Most blocks are small, and the recorder does not follow them. It needs no call for
            // them.
            emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(DR_REG_R11), emit.reg(DR_REG_RDI)));
            emit.add(INSTR_CREATE_shr(dc, emit.reg(DR_REG_R11), OPND_CREATE_INT8(kPageShift)));
            emit.add(INSTR_CREATE_and(dc, emit.reg32(DR_REG_R11),
                                      OPND_CREATE_INT32(static_cast<int>(kWindowPages - 1))));
            instrlist_insert_mov_immed_ptrsz(dc, reinterpret_cast<ptr_int_t>(block_entries()),
                                             emit.reg(DR_REG_R10), emit.block, emit.where, nullptr,
                                             nullptr);
            emit.add(INSTR_CREATE_cmp(
                dc, opnd_create_base_disp(DR_REG_R10, DR_REG_R11, sizeof(uint32_t), 0, OPSZ_4),
                OPND_CREATE_INT8(0)));
            emit.add(INSTR_CREATE_jcc(dc, OP_jz, emit.label(done)));
        }
        emit_slow_path_jump(emit, slow_paths.function_called, hook, DR_REG_R11, done);
    }
    emit.add(done);
}

uint32_t places_left(const BlockPlan& plan) {
    return plan.groups - plan.next_group + plan.specials - plan.next_special;
}

dr_emit_flags_t insert(void* drcontext, void* tag, instrlist_t* list, instr_t* where, bool, bool,
                       void* user_data) {
    auto* block = static_cast<Block*>(user_data);
    BlockPlan& plan = block->plan;
    const Emitter emit{drcontext, list, where};
    if (drmgr_is_first_instr(drcontext, where)) {
        if (bursts() && block->unit.units != 0) {
            insert_work_unit(emit, block->unit, dr_fragment_app_pc(tag), units_ran_out);
        }
        insert_function_hook(emit, dr_fragment_app_pc(tag));
    }
    while (plan.next_group < plan.groups && plan.group[plan.next_group].first == where) {
        const uint32_t number = plan.next_group++;
        insert_group(emit, *block, number, places_left(plan) == 0);
    }
    while (plan.next_special < plan.specials &&
           plan.special[plan.next_special].instruction == where) {
        const uint32_t number = plan.next_special++;
        insert_special(emit, block->scratch, plan, number, places_left(plan) == 0);
    }
    if (plan.head.instruction == where && block->scratch.head != kNoBlock) {
        insert_head(emit, *block);
    }
    insert_mark(drcontext, list, where);
    insert_frame_change(emit);
    count_indirect_jump(emit);
    return DR_EMIT_DEFAULT;
}

// A thread builds one block at a time, so the memory of its plan is reused.
void thread_started(void* drcontext) {
    drmgr_set_tls_field(drcontext, plan_index, plans.take());
}

void thread_ended(void* drcontext) {
    plans.give_back(drmgr_get_tls_field(drcontext, plan_index),
                    dr_get_current_drcontext() == drcontext);
}

}  // namespace

void instrument_init() {
    drutil_init();
    scratch_init();
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
    drutil_exit();
    plans.close();
}

void instrument_after_fork() {
    plans.after_fork();
}

}  // namespace numascape
