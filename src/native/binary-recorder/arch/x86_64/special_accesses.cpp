// SPDX-License-Identifier: Apache-2.0
#include "special_accesses.h"

#include <atomic>

#include "counting_code.h"
#include "dr_api.h"
#include "instruction_facts.h"
#include "recorder.h"
#include "scratch.h"
#include "traffic.h"

namespace numascape {
namespace {

template <typename T>
const T* keep(const T& value) {
    T copy = value;
    __builtin_clear_padding(&copy);
    return static_cast<const T*>(keep_value(&copy, sizeof copy));
}

SpecialPlace place_of(const BlockScratch& block, const BlockPlan& plan, uint32_t number) {
    instr_t* instruction = plan.special[number].instruction;
    const auto pc = reinterpret_cast<uint64_t>(instr_get_app_pc(instruction));
    return {{pc, special_site(block.number, plan, number)},
            block.number,
            special_counts(instruction).exact ? 0 : 1 + number};
}

uint32_t bytes_of(opnd_t operand) {
    return opnd_size_in_bytes(opnd_get_size(operand));
}

struct MemoryOperand {
    opnd_t operand;
    bool write;
};

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

// The place behind an instruction, which may be the block's last.
instr_t* behind_of(const Emitter& emit, instr_t* instruction) {
    instr_t* next = instr_get_next(instruction);
    if (next == nullptr) {
        next = INSTR_CREATE_label(emit.drcontext);
        instrlist_meta_append(emit.block, next);
    }
    return next;
}

// All repeated string instructions, so that faults in them can be handled.
struct StringNode {
    PlaceInfo place;
    const RepeatedString* string;
    const StringNode* next;
};
std::atomic<const StringNode*> repeated_strings{nullptr};

void remember(const RepeatedString* string) {
    const StringNode* first = repeated_strings.load(std::memory_order_acquire);
    for (const StringNode* node = first; node != nullptr; node = node->next) {
        if (node->string == string) {
            return;
        }
    }
    const StringNode* node = nullptr;
    do {
        node = keep(StringNode{string->place.info, string, first});
    } while (!repeated_strings.compare_exchange_weak(first, node));
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

// Before it: how often it is to run. It is counted after it has run, because a signal may end it.
void insert_string_count(const Emitter& emit) {
    emit.add(INSTR_CREATE_mov_st(emit.drcontext,
                                 thread_slot(emit.drcontext, ThreadSlot::kStringCount),
                                 emit.reg(DR_REG_RCX)));
}

void insert_string_ran(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                       const SpecialPlace& place) {
    const auto* info = describe_string(instruction, place);
    const reg_id_t a = scratch.take(Role::kAddress);
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
    const auto* info = keep(SavedState{place, memory.write, compacted});
    const reg_id_t a = scratch.take(Role::kAddress);
    const reg_id_t b = scratch.take(Role::kSecond);
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
    const auto* info = keep(BitTest{place, bytes_of(memory.operand), memory.write});
    const reg_id_t a = scratch.take(Role::kAddress);
    const reg_id_t b = scratch.take(Role::kSecond);
    insert_address_of(emit, memory.operand, a, b);
    emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(b), emit.reg(reg_to_pointer_sized(number))));
    instr_t* done = INSTR_CREATE_label(dc);
    scratch.save_flags();
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(a)));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kSecond), emit.reg(b)));
    emit_slow_path_jump(emit, slow_paths.bit_test, info, a, done);
    emit.add(done);
}

bool is_opmask(opnd_t operand) {
    return opnd_is_reg(operand) && reg_is_opmask(opnd_get_reg(operand));
}

bool is_vector(opnd_t operand) {
    return opnd_is_reg(operand) &&
           (reg_is_simd(opnd_get_reg(operand)) || reg_is_mmx(opnd_get_reg(operand)));
}

// A mask register's bits.
void insert_opmask(const Emitter& emit, opnd_t mask, reg_id_t into) {
    void* dc = emit.drcontext;
    if (proc_has_feature(FEATURE_AVX512BW)) {
        emit.add(INSTR_CREATE_kmovq(dc, emit.reg(into), mask));
    } else {
        emit.add(INSTR_CREATE_kmovw(dc, emit.reg32(into), mask));
    }
}

// The top bits of a vector's elements.
void insert_sign_bits(const Emitter& emit, opnd_t vector, uint32_t element_bytes, reg_id_t into) {
    void* dc = emit.drcontext;
    const opnd_t to = emit.reg(into);
    const bool legacy = reg_is_mmx(opnd_get_reg(vector)) || !proc_has_feature(FEATURE_AVX);
    switch (element_bytes) {
        case 4:
            emit.add(INSTR_CREATE_vmovmskps(dc, to, vector));
            break;
        case 8:
            emit.add(INSTR_CREATE_vmovmskpd(dc, to, vector));
            break;
        default:
            emit.add(legacy ? INSTR_CREATE_pmovmskb(dc, emit.reg32(into), vector)
                            : INSTR_CREATE_vpmovmskb(dc, emit.reg32(into), vector));
    }
}

// The vector source that selects bytes or lanes: for loads the only one, for stores `mask, data`
// (vmaskmovps, vmaskmovpd) or `data, mask` (vpmaskmov, maskmovq, maskmovdqu).
opnd_t vector_mask(instr_t* instruction, bool last) {
    opnd_t mask = opnd_create_null();
    for (int i = 0; i < instr_num_srcs(instruction); ++i) {
        if (is_vector(instr_get_src(instruction, i))) {
            mask = instr_get_src(instruction, i);
            if (!last) {
                break;
            }
        }
    }
    return mask;
}

// Sets the zero flag when none of the lowest `lanes` bits is set.
void insert_lane_test(const Emitter& emit, uint32_t lanes, reg_id_t mask) {
    void* dc = emit.drcontext;
    if (lanes >= 64) {
        emit.add(INSTR_CREATE_test(dc, emit.reg(mask), emit.reg(mask)));
    } else if (lanes == 32) {
        emit.add(INSTR_CREATE_test(dc, emit.reg32(mask), emit.reg32(mask)));
    } else {
        emit.add(INSTR_CREATE_test(dc, emit.reg32(mask), OPND_CREATE_INT32((1 << lanes) - 1)));
    }
}

bool masked_write(instr_t* instruction) {
    return memory_operand(instruction).write && !reads_destination(instruction);
}

void insert_masked(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                   const MemoryOperand& memory, const SpecialPlace& place) {
    void* dc = emit.drcontext;
    const int opcode = instr_get_opcode(instruction);
    const bool mask_last =
        is_masked_by_bytes(opcode) || opcode == OP_vpmaskmovd || opcode == OP_vpmaskmovq;
    const MaskedLanes lanes =
        masked_lanes(instruction, accessed_bytes(instruction, memory.operand));
    const bool write = masked_write(instruction);
    const auto* info = keep(MaskedShape{place, lanes, write});

    const reg_id_t a = scratch.take(Role::kAddress);
    const reg_id_t b = scratch.take(Role::kSecond);
    const auto insert_mask = [&] {
        if (is_opmask(instr_get_src(instruction, 0))) {
            insert_opmask(emit, instr_get_src(instruction, 0), b);
        } else {
            insert_sign_bits(emit, vector_mask(instruction, mask_last), lanes.element_bytes, b);
        }
    };
    insert_address_of(emit, memory.operand, a, b);
    insert_mask();
    const reg_id_t table = scratch.take_table();
    if (traffic()) {
        scratch.take(Role::kLine);
    }
    scratch.save_flags();
    instr_t* crosses = INSTR_CREATE_label(dc);
    instr_t* leave = INSTR_CREATE_label(dc);
    instr_t* done = INSTR_CREATE_label(dc);
    insert_lane_test(emit, lanes.lanes, b);
    emit.add(INSTR_CREATE_jcc(dc, OP_jz, emit.label(done)));
    // With the whole operand in one page (and one line) it does not matter which lanes are
    // selected.
    const int unit = static_cast<int>(traffic() ? line_bytes() : kPageBytes);
    insert_page_crossing_check(emit, static_cast<int>(lanes.bytes), a, b, crosses, unit);
    if (traffic()) {
        insert_probe(emit, scratch, a, lanes.bytes, write, place.info);
    }
    insert_counter_offset(emit, a);
    insert_subtraction(emit, table, a, write, 1);
    emit.add(INSTR_CREATE_jcc(dc, OP_jnb, emit.label(done)));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kSecond), emit.reg(table)));
    emit.add(INSTR_CREATE_jmp(dc, emit.label(leave)));
    emit.add(crosses);
    insert_mask();
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kSecond), emit.reg(b)));
    emit.add(leave);
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(a)));
    emit_slow_path_jump(emit, slow_paths.masked, info, a, done);
    emit.add(done);
}

uint32_t bytes_of_register(reg_id_t reg) {
    return opnd_size_in_bytes(reg_get_size(reg));
}

// Element and index sizes by the name: vgatherDPS, vpscatterQD, ... (index letter, element suffix).
GatherShape gather_shape(instr_t* instruction, const MemoryOperand& memory, reg_id_t data,
                         const SpecialPlace& place) {
    const std::string_view name = decode_opcode_name(instr_get_opcode(instruction));
    const bool wide = name.ends_with("pd") || name.ends_with("q");
    const bool floating = name.ends_with("ps") || name.ends_with("pd");
    const char index_letter = name[name.size() - (floating ? 3 : 2)];
    const uint32_t element = wide ? 8 : 4;
    const uint32_t index = index_letter == 'q' ? 8 : 4;
    const uint32_t by_data = bytes_of_register(data) / element;
    const uint32_t by_index = bytes_of_register(opnd_get_index(memory.operand)) / index;
    return {place,
            by_data < by_index ? by_data : by_index,
            element,
            index,
            static_cast<uint32_t>(opnd_get_scale(memory.operand)),
            memory.write};
}

void insert_gathered(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                     const MemoryOperand& memory, const SpecialPlace& place) {
    void* dc = emit.drcontext;
    // AVX-512: opmask first, then memory or data. AVX2 gathers: memory, mask; data is written.
    const bool evex = is_opmask(instr_get_src(instruction, 0));
    const opnd_t data =
        memory.write ? instr_get_src(instruction, 1) : instr_get_dst(instruction, 0);
    if (!is_vector(data)) {
        return;  // a prefetch
    }
    const GatherShape shape = gather_shape(instruction, memory, opnd_get_reg(data), place);
    const opnd_t op = memory.operand;
    const reg_id_t a = scratch.take(Role::kAddress);
    const reg_id_t b = scratch.take(Role::kSecond);
    load_thread_slot(dc, emit.block, emit.where, ThreadSlot::kVector, b);
    const reg_id_t index = opnd_get_index(op);
    const opnd_t copy = opnd_create_base_disp(b, DR_REG_NULL, 0, 0, reg_get_size(index));
    emit.add(evex ? INSTR_CREATE_vmovdqu64_mask(dc, copy, opnd_create_reg(DR_REG_K0),
                                                opnd_create_reg(index))
                  : INSTR_CREATE_vmovdqu(dc, copy, opnd_create_reg(index)));
    const opnd_t base =
        opnd_create_base_disp(opnd_get_base(op), DR_REG_NULL, 0, opnd_get_disp(op), OPSZ_lea);
    emit.add(INSTR_CREATE_lea(dc, emit.reg(a), base));
    if (evex) {
        insert_opmask(emit, instr_get_src(instruction, 0), b);
    } else {
        insert_sign_bits(emit, instr_get_src(instruction, 1), shape.element_bytes, b);
    }
    instr_t* done = INSTR_CREATE_label(dc);
    scratch.save_flags();
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(a)));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kSecond), emit.reg(b)));
    emit_slow_path_jump(emit, slow_paths.gathered, keep(shape), a, done);
    emit.add(done);
}

}  // namespace

const RepeatedString* repeated_string_at(uint64_t pc) {
    const StringNode* node = repeated_strings.load(std::memory_order_acquire);
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
    PlaceScratch scratch(emit, block, special.freedom, read);
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
