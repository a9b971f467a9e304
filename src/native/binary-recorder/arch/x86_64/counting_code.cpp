// SPDX-License-Identifier: Apache-2.0
#include "counting_code.h"

#include "block_counters.h"
#include "block_heads.h"
#include "drutil.h"
#include "recorder.h"

namespace numascape {

void insert_page_crossing_check(const Emitter& emit, int span, reg_id_t a, reg_id_t b,
                                instr_t* leave, int unit) {
    void* dc = emit.drcontext;
    emit.add(INSTR_CREATE_lea(dc, emit.reg(b),
                              opnd_create_base_disp(a, DR_REG_NULL, 0, span - 1, OPSZ_lea)));
    emit.add(INSTR_CREATE_xor(dc, emit.reg32(b), emit.reg32(a)));
    emit.add(INSTR_CREATE_test(dc, emit.reg32(b), OPND_CREATE_INT32(2 * kPageBytes - unit)));
    emit.add(INSTR_CREATE_jcc(dc, OP_jnz, emit.label(leave)));
}

int crossing_margin(int64_t span) {
    int margin = 1;
    while (margin < span - 1) {
        margin *= 2;
    }
    return margin;
}

void insert_margin_check(const Emitter& emit, int margin, reg_id_t a, instr_t* second_look) {
    void* dc = emit.drcontext;
    emit.add(INSTR_CREATE_test(dc, emit.reg32(a),
                               OPND_CREATE_INT32(static_cast<int>(kPageBytes) - margin)));
    emit.add(INSTR_CREATE_jcc(dc, OP_jz, emit.label(second_look)));
}

void insert_exact_look(const Emitter& emit, int span, int margin, reg_id_t a, instr_t* counted,
                       instr_t* leave) {
    void* dc = emit.drcontext;
    const opnd_t kept = thread_slot(dc, ThreadSlot::kArgument);
    const auto move = [&](int distance) {
        emit.add(INSTR_CREATE_lea(dc, emit.reg(a),
                                  opnd_create_base_disp(a, DR_REG_NULL, 0, distance, OPSZ_lea)));
    };
    move(-margin);
    emit.add(INSTR_CREATE_mov_st(dc, kept, emit.reg(a)));
    // The last byte is on the next page if it is one of the first span - 1 bytes of a page.
    move(span - 1);
    emit.add(INSTR_CREATE_and(dc, emit.reg32(a), OPND_CREATE_INT32(kPageBytes - 1)));
    emit.add(INSTR_CREATE_cmp(dc, emit.reg32(a), OPND_CREATE_INT32(span - 1)));
    emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(a), kept));
    emit.add(INSTR_CREATE_jcc(dc, OP_jnb, emit.label(counted)));
    emit.add(INSTR_CREATE_test(dc, emit.reg32(a), emit.reg32(a)));  // clears the carry flag
    emit.add(INSTR_CREATE_jmp(dc, emit.label(leave)));
}

void insert_alignment_check(const Emitter& emit, int bytes, reg_id_t a, instr_t* second_look) {
    emit.add(INSTR_CREATE_test(emit.drcontext, Emitter::reg8(a), OPND_CREATE_INT8(bytes - 1)));
    emit.add(INSTR_CREATE_jcc(emit.drcontext, OP_jnz, emit.label(second_look)));
}

void insert_second_look(const Emitter& emit, int bytes, int unit, reg_id_t a, instr_t* counted,
                        instr_t* leave) {
    void* dc = emit.drcontext;
    const auto move = [&](int distance) {
        emit.add(INSTR_CREATE_lea(dc, Emitter::reg(a),
                                  opnd_create_base_disp(a, DR_REG_NULL, 0, distance, OPSZ_lea)));
    };
    // An unaligned access is on two units if its last byte is one of the first `bytes` bytes of a
    // unit.
    move(bytes - 1);
    emit.add(INSTR_CREATE_test(dc, Emitter::reg32(a), OPND_CREATE_INT32(unit - bytes)));
    emit.add(INSTR_CREATE_jcc(dc, OP_jnz, emit.label(counted)));
    move(1 - bytes);
    emit.add(INSTR_CREATE_jmp(dc, emit.label(leave)));
}

void insert_counter_offset(const Emitter& emit, reg_id_t a) {
    void* dc = emit.drcontext;
    emit.add(INSTR_CREATE_shr(dc, emit.reg(a), OPND_CREATE_INT8(kPageShift - 4)));
    emit.add(INSTR_CREATE_and(dc, emit.reg32(a), OPND_CREATE_INT8(-16)));
}

void insert_subtraction(const Emitter& emit, reg_id_t table, reg_id_t a, bool write,
                        uint32_t count) {
    const opnd_t counter = opnd_create_base_disp(table, a, 1, write ? 8 : 0, OPSZ_8);
    const auto amount = static_cast<int>(count);
    emit.add(INSTR_CREATE_sub(emit.drcontext, counter,
                              count < 128 ? OPND_CREATE_INT8(amount) : OPND_CREATE_INT32(amount)));
}

void emit_slow_path_jump(const Emitter& emit, app_pc code, const void* info, reg_id_t scratch,
                         instr_t* back) {
    void* dc = emit.drcontext;
    instrlist_insert_mov_immed_ptrsz(dc, reinterpret_cast<ptr_int_t>(info), emit.reg(scratch),
                                     emit.block, emit.where, nullptr, nullptr);
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kInfo), emit.reg(scratch)));
    instrlist_insert_mov_instr_addr(dc, back, nullptr, emit.reg(scratch), emit.block, emit.where,
                                    nullptr, nullptr);
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kReturn), emit.reg(scratch)));
    emit.add(INSTR_CREATE_jmp(dc, opnd_create_pc(code)));
}

void insert_block_head(const Emitter& emit, uint32_t block, reg_id_t table) {
    void* dc = emit.drcontext;
    instr_t* go = INSTR_CREATE_label(dc);
    instr_t* back = INSTR_CREATE_label(dc);
    emit.add(INSTR_CREATE_sub(
        dc, opnd_create_base_disp(table, DR_REG_NULL, 0, counter_offset(block), OPSZ_8),
        OPND_CREATE_INT8(1)));
    emit.add(INSTR_CREATE_jcc(dc, OP_jnb, emit.label(go)));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(table)));
    emit_slow_path_jump(emit, slow_paths.block_counter, reinterpret_cast<void*>(uint64_t{block}),
                        table, back);
    emit.add(back);
    load_thread_slot(dc, emit.block, emit.where, ThreadSlot::kTable, table);
    emit.add(go);
}

void insert_address_of(const Emitter& emit, opnd_t operand, reg_id_t into, reg_id_t second) {
    const bool done =
        drutil_insert_get_mem_addr(emit.drcontext, emit.block, emit.where, operand, into, second);
    DR_ASSERT(done);
    (void)done;
}

}  // namespace numascape
