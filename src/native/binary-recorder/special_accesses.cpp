// SPDX-License-Identifier: Apache-2.0
#include "special_accesses.h"

#include <string_view>

#include "counting_code.h"
#include "dr_api.h"
#include "recorder.h"
#include "scratch.h"
#include "traffic.h"

namespace numascape {
namespace {

template <typename T>
const T* keep(const T& value) {
    auto* kept = static_cast<T*>(permanent(sizeof(T)));
    *kept = value;
    return kept;
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

void insert_repeated_string(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                            const SpecialPlace& place) {
    const int opcode = instr_get_opcode(instruction);
    const opnd_t element =
        opcode == OP_rep_lods ? instr_get_src(instruction, 0) : instr_get_dst(instruction, 0);
    const auto* info = keep(
        RepeatedString{place, bytes_of(element), opcode != OP_rep_stos, opcode != OP_rep_lods});
    const reg_id_t a = scratch.take(Role::kAddress);
    instr_t* done = INSTR_CREATE_label(emit.drcontext);
    scratch.save_flags();
    leave_for(emit, out_of_line.repeated_string, info, a, done);
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
    leave_for(emit, out_of_line.bit_test, info, a, done);
    emit.add(done);
}

uint32_t element_bytes_of(std::string_view name, uint32_t operand_bytes) {
    const auto ends = [&](std::string_view end) { return name.ends_with(end); };
    if (name.starts_with("vcvt") || name.find("broadcast") != std::string_view::npos ||
        name.starts_with("vpmov")) {
        return 0;  // memory elements differ from the other operand's
    }
    uint32_t bytes = 0;
    const bool scalar_double = ends("sd") && !name.starts_with("vp");  // vpcompressd
    if (ends("pd") || ends("q") || ends("64") || scalar_double) {
        bytes = 8;
    } else if (ends("ps") || ends("d") || ends("32") || ends("ss")) {
        bytes = 4;
    } else if (ends("w") || ends("16")) {
        bytes = 2;
    } else if (ends("b") || ends("8")) {
        bytes = 1;
    }
    // An embedded broadcast reads one element for all lanes.
    return bytes != 0 && operand_bytes > bytes ? bytes : 0;
}

// Of the vector register: DynamoRIO gives a packed memory operand the size of one element.
uint32_t vector_bytes(instr_t* instruction) {
    for (int i = 0; i < instr_num_srcs(instruction) + instr_num_dsts(instruction); ++i) {
        const int dst = i - instr_num_srcs(instruction);
        const opnd_t operand =
            dst < 0 ? instr_get_src(instruction, i) : instr_get_dst(instruction, dst);
        if (opnd_is_reg(operand) && reg_is_simd(opnd_get_reg(operand))) {
            return bytes_of(operand);
        }
    }
    return 0;
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

bool is_expansion(instr_t* instruction) {
    const std::string_view name = decode_opcode_name(instr_get_opcode(instruction));
    return name.find("expand") != std::string_view::npos;
}

bool masked_write(instr_t* instruction) {
    // DynamoRIO 11.90 lists what an expansion reads as written.
    return memory_operand(instruction).write && !is_expansion(instruction);
}

void insert_masked(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                   const MemoryOperand& memory, const SpecialPlace& place) {
    void* dc = emit.drcontext;
    const int opcode = instr_get_opcode(instruction);
    const std::string_view name = decode_opcode_name(opcode);
    const bool by_bytes =
        opcode == OP_maskmovdqu || opcode == OP_vmaskmovdqu || opcode == OP_maskmovq;
    const bool mask_last = by_bytes || opcode == OP_vpmaskmovd || opcode == OP_vpmaskmovq;
    const bool packed =
        is_expansion(instruction) || name.find("compress") != std::string_view::npos;
    const uint32_t bytes = packed ? vector_bytes(instruction) : bytes_of(memory.operand);
    const bool write = masked_write(instruction);
    const uint32_t element = by_bytes ? 1 : element_bytes_of(name, bytes);
    const auto* info = keep(MaskedShape{place, element, bytes, packed, write});

    const reg_id_t a = scratch.take(Role::kAddress);
    const reg_id_t b = scratch.take(Role::kSecond);
    const auto insert_mask = [&] {
        if (is_opmask(instr_get_src(instruction, 0))) {
            insert_opmask(emit, instr_get_src(instruction, 0), b);
        } else {
            insert_sign_bits(emit, vector_mask(instruction, mask_last), element, b);
        }
    };
    insert_address_of(emit, memory.operand, a, b);
    insert_mask();
    const reg_id_t table = scratch.take_table();
    if (traffic()) {
        scratch.take(Role::kLine);
    }
    scratch.save_flags();
    instr_t* straddles = INSTR_CREATE_label(dc);
    instr_t* leave = INSTR_CREATE_label(dc);
    instr_t* done = INSTR_CREATE_label(dc);
    insert_lane_test(emit, element == 0 ? 64 : bytes / element, b);
    emit.add(INSTR_CREATE_jcc(dc, OP_jz, emit.label(done)));
    // With the whole operand in one page (and one line) it does not matter which lanes are
    // selected.
    const int unit = static_cast<int>(traffic() ? line_bytes() : kPageBytes);
    insert_straddle_check(emit, Straddle::kByAddress, static_cast<int>(bytes), a, b, straddles,
                          unit);
    if (traffic()) {
        insert_probe(emit, scratch, a, write);
    }
    insert_slot_offset(emit, a);
    insert_subtraction(emit, table, a, write, 1);
    emit.add(INSTR_CREATE_jcc(dc, OP_jnb, emit.label(done)));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kSecond), emit.reg(table)));
    emit.add(INSTR_CREATE_jmp(dc, emit.label(leave)));
    emit.add(straddles);
    insert_mask();
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kSecond), emit.reg(b)));
    emit.add(leave);
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(a)));
    leave_for(emit, out_of_line.masked, info, a, done);
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
    leave_for(emit, out_of_line.gathered, keep(shape), a, done);
    emit.add(done);
}

}  // namespace

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
    PlaceScratch scratch(emit, block, special.freedom, read);
    const bool of_stack =
        opnd_is_base_disp(memory.operand) && opnd_get_base(memory.operand) == DR_REG_XSP;
    if (options.count_stack || !of_stack) {
        switch (special_access(instruction)) {
            case SpecialAccess::kNone:
                break;
            case SpecialAccess::kRepeatedString:
                insert_repeated_string(emit, scratch, instruction, place);
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
        }
    }
    scratch.restore(last);
}

}  // namespace numascape
