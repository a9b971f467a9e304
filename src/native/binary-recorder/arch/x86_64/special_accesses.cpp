// SPDX-License-Identifier: Apache-2.0
#include "special_accesses.h"

#include <array>
#include <atomic>

#include "access_kinds.h"
#include "counting_code.h"
#include "dr_api.h"
#include "instruction_facts.h"
#include "kept_description.h"
#include "memory_operand.h"
#include "recorder.h"
#include "scratch.h"
#include "special_counts.h"
#include "vector_accesses.h"

namespace numascape {
namespace {

SpecialPlace place_of(const BlockScratch& block, const BlockPlan& plan, uint32_t number) {
    instr_t* instruction = plan.special[number].instruction;
    const uint64_t pc = program_pc(plan, instruction);
    return {{pc, special_site(block.number, plan, number), FramePointerAt::kInRegister},
            block.number,
            special_counts(instruction).exact ? 0 : 1 + number};
}

uint32_t bytes_of(opnd_t operand) {
    return opnd_size_in_bytes(opnd_get_size(operand));
}

// The place behind an instruction, which may be the block's last.
instr_t* behind_of(const Emitter& emit, instr_t* instruction) {
    instr_t* next = instr_get_next(instruction);
    if (next == nullptr) {
        next = INSTR_CREATE_label(emit.drcontext);
        instrlist_meta_append(emit.block, next);
    }
    return next;
}

// The place, after its registers are taken.
SpecialPlace with_frame_pointer(SpecialPlace place, const PlaceScratch& scratch) {
    place.info.frame_pointer = scratch.frame_pointer();
    return place;
}

// All repeated string instructions, so that faults in them can be handled. There is a list for each
// remainder of their addresses, because programs that generate code have very many such
// instructions.
struct StringNode {
    PlaceInfo place;
    const RepeatedString* string;
    const StringNode* next;
};
std::array<std::atomic<const StringNode*>, 4096> repeated_strings{};

std::atomic<const StringNode*>& strings_at(uint64_t pc) {
    return repeated_strings[pc % repeated_strings.size()];
}

void remember(const RepeatedString* string) {
    auto& strings = strings_at(string->place.info.pc);
    const StringNode* first = strings.load(std::memory_order_acquire);
    for (const StringNode* node = first; node != nullptr; node = node->next) {
        if (node->string == string) {
            return;
        }
    }
    const StringNode* node = nullptr;
    do {
        node = keep(StringNode{string->place.info, string, first});
    } while (!strings.compare_exchange_weak(first, node));
}

const RepeatedString* describe_string(instr_t* instruction, const SpecialPlace& place) {
    const int opcode = instr_get_opcode(instruction);
    const opnd_t element =
        opcode == OP_rep_lods ? instr_get_src(instruction, 0) : instr_get_dst(instruction, 0);
    const RepeatedString* string =
        keep(RepeatedString{place, bytes_of(element), opcode != OP_rep_stos, opcode != OP_rep_lods,
                            reg_is_32bit(opnd_get_base(element))});
    remember(string);
    return string;
}

// This saves, before the instruction, how often it is to run. The instruction is counted after it
// has run, because a signal may end it early.
void insert_string_count(const Emitter& emit) {
    emit.add(INSTR_CREATE_mov_st(emit.drcontext, thread_slot(emit.drcontext, ThreadSlot::kRepeats),
                                 emit.reg(DR_REG_RCX)));
}

void insert_string_ran(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                       const SpecialPlace& place) {
    const reg_id_t a = scratch.take(Role::kAddress);
    const auto* info = describe_string(instruction, with_frame_pointer(place, scratch));
    instr_t* done = INSTR_CREATE_label(emit.drcontext);
    scratch.save_flags();
    emit_slow_path_jump(emit, slow_paths.repeated_string, info, a, done);
    emit.add(done);
}

void insert_saved_state(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                        const MemoryOperand& memory, const SpecialPlace& place) {
    void* dc = emit.drcontext;
    const int opcode = instr_get_opcode(instruction);
    const bool compacted = opcode == OP_xsavec32 || opcode == OP_xsavec64;
    const reg_id_t a = scratch.take(Role::kAddress);
    const reg_id_t b = scratch.take(Role::kSecond);
    const auto* info =
        keep(SavedState{with_frame_pointer(place, scratch), memory.write, compacted});
    insert_address_of(emit, memory.operand, a, b);
    emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(b), emit.reg(DR_REG_RAX)));
    instr_t* done = INSTR_CREATE_label(dc);
    scratch.save_flags();
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(a)));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kSecond), emit.reg(b)));
    emit_slow_path_jump(emit, slow_paths.saved_state, info, a, done);
    emit.add(done);
}

void insert_bit_test(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                     const MemoryOperand& memory, const SpecialPlace& place) {
    void* dc = emit.drcontext;
    const reg_id_t number = opnd_get_reg(bit_number(instruction));
    const reg_id_t a = scratch.take(Role::kAddress);
    const reg_id_t b = scratch.take(Role::kSecond);
    const auto* info =
        keep(BitTest{with_frame_pointer(place, scratch), bytes_of(memory.operand), memory.write});
    insert_address_of(emit, memory.operand, a, b);
    emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(b), emit.reg(reg_to_pointer_sized(number))));
    instr_t* done = INSTR_CREATE_label(dc);
    scratch.save_flags();
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(a)));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kSecond), emit.reg(b)));
    emit_slow_path_jump(emit, slow_paths.bit_test, info, a, done);
    emit.add(done);
}

}  // namespace

MemoryOperand memory_operand(instr_t* instruction) {
    for (int i = 0; i < instr_num_dsts(instruction); ++i) {
        if (opnd_is_memory_reference(instr_get_dst(instruction, i))) {
            return {instr_get_dst(instruction, i), true};
        }
    }
    for (int i = 0; i < instr_num_srcs(instruction); ++i) {
        if (opnd_is_memory_reference(instr_get_src(instruction, i))) {
            return {instr_get_src(instruction, i), false};
        }
    }
    return {opnd_create_null(), false};
}

bool masked_write(instr_t* instruction) {
    return memory_operand(instruction).write && !reads_destination(instruction);
}

const RepeatedString* repeated_string_at(uint64_t pc) {
    const StringNode* node = strings_at(pc).load(std::memory_order_acquire);
    while (node != nullptr && node->place.pc != pc) {
        node = node->next;
    }
    return node == nullptr ? nullptr : node->string;
}

SpecialCounts special_counts(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    const bool write = memory_operand(instruction).write;
    switch (special_access(instruction)) {
        case SpecialAccess::kRepeatedString:
            return {opcode != OP_rep_stos, opcode != OP_rep_lods, false};
        case SpecialAccess::kBitTest:
            return {true, write, true};
        case SpecialAccess::kMasked: {
            const bool written = masked_write(instruction);
            return {!written, written, true};
        }
        case SpecialAccess::kGathered:
            return {!write, write, false};
        case SpecialAccess::kSavedState:
            return {!write, write, true};
        case SpecialAccess::kNone:
            break;
    }
    return {false, false, true};
}

void insert_special(const Emitter& emit, BlockScratch& block, const BlockPlan& plan,
                    uint32_t number, bool last) {
    const PlannedSpecial& special = plan.special[number];
    instr_t* instruction = special.instruction;
    const MemoryOperand memory = memory_operand(instruction);
    const SpecialPlace place = place_of(block, plan, number);
    RegisterSet read = 0;
    for (int i = 0; i < instr_num_srcs(instruction); ++i) {
        read |= registers_of(instr_get_src(instruction, i));
    }
    for (int i = 0; i < instr_num_dsts(instruction); ++i) {
        read |= registers_of(instr_get_dst(instruction, i));
    }
    const SpecialAccess kind = special_access(instruction);
    if (kind == SpecialAccess::kRepeatedString) {
        insert_string_count(emit);
        const Emitter behind{emit.drcontext, emit.block, behind_of(emit, instruction)};
        PlaceScratch scratch(behind, block, DeadRegisters{0, false}, read);
        insert_string_ran(behind, scratch, instruction, place);
        scratch.restore(last);
        return;
    }
    PlaceScratch scratch(emit, block, special.dead_registers, read);
    const bool of_stack =
        opnd_is_base_disp(memory.operand) && opnd_get_base(memory.operand) == DR_REG_XSP;
    if (options.count_stack || !of_stack) {
        switch (kind) {
            case SpecialAccess::kNone:
            case SpecialAccess::kRepeatedString:
                break;
            case SpecialAccess::kBitTest:
                insert_bit_test(emit, scratch, instruction, memory, place);
                break;
            case SpecialAccess::kMasked:
                insert_masked(emit, scratch, instruction, memory, place);
                break;
            case SpecialAccess::kGathered:
                insert_gathered(emit, scratch, instruction, memory, place);
                break;
            case SpecialAccess::kSavedState:
                insert_saved_state(emit, scratch, instruction, memory, place);
                break;
        }
    }
    scratch.restore(last);
}

}  // namespace numascape
