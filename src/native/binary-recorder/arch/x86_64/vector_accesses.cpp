// SPDX-License-Identifier: Apache-2.0
#include "vector_accesses.h"

#include <string_view>

#include "dr_api.h"
#include "instruction_facts.h"
#include "kept_description.h"
#include "recorder.h"
#include "traffic.h"

namespace numascape {
namespace {

bool is_opmask(opnd_t operand) {
    return opnd_is_reg(operand) && reg_is_opmask(opnd_get_reg(operand));
}

bool is_vector(opnd_t operand) {
    return opnd_is_reg(operand) &&
           (reg_is_simd(opnd_get_reg(operand)) || reg_is_mmx(opnd_get_reg(operand)));
}

// Copies the bits of a mask register.
void insert_opmask(const Emitter& emit, opnd_t mask, reg_id_t into) {
    void* dc = emit.drcontext;
    if (proc_has_feature(FEATURE_AVX512BW)) {
        emit.add(INSTR_CREATE_kmovq(dc, emit.reg(into), mask));
    } else {
        emit.add(INSTR_CREATE_kmovw(dc, emit.reg32(into), mask));
    }
}

// Collects the top bits of a vector's elements.
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

uint32_t bytes_of_register(reg_id_t reg) {
    return opnd_size_in_bytes(reg_get_size(reg));
}

// Takes the sizes of an index and of an element from the name, such as vgatherDPS or vpscatterQD:
// the letter of the index, and then the suffix of the element.
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

}  // namespace

void insert_masked(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                   const MemoryOperand& memory, const SpecialPlace& place) {
    void* dc = emit.drcontext;
    const int opcode = instr_get_opcode(instruction);
    const bool mask_last =
        is_masked_by_bytes(opcode) || opcode == OP_vpmaskmovd || opcode == OP_vpmaskmovq;
    const MaskedLanes lanes =
        masked_lanes(instruction, accessed_bytes(instruction, memory.operand));
    const bool write = masked_write(instruction);
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
    MaskedShape shape{place, lanes, write};
    shape.place.info.frame_pointer = scratch.frame_pointer();
    const auto* info = keep(shape);
    scratch.save_flags();
    instr_t* crosses = INSTR_CREATE_label(dc);
    instr_t* leave = INSTR_CREATE_label(dc);
    instr_t* done = INSTR_CREATE_label(dc);
    insert_lane_test(emit, lanes.lanes, b);
    emit.add(INSTR_CREATE_jcc(dc, OP_jz, emit.label(done)));
    // If the whole operand is in one page (and one line), it does not matter which lanes are
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
    GatherShape shape = gather_shape(instruction, memory, opnd_get_reg(data), place);
    const opnd_t op = memory.operand;
    const reg_id_t a = scratch.take(Role::kAddress);
    const reg_id_t b = scratch.take(Role::kSecond);
    shape.place.info.frame_pointer = scratch.frame_pointer();
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

}  // namespace numascape
