// SPDX-License-Identifier: Apache-2.0
//
// A probe of the line at `offset` bytes from a group's lowest address:
//
//     lea   b, [a + offset]
//     shr   b, line_bits             b = the line
//     imul  c32, b32, kFilterHash
//     shr   c32, kFilterShift
//     and   c32, mask                c = offset of the line's entry in the filter
//     add   c, [filter]
//     cmp   dword [c], b32           (or [c + kDirtyLines], for a write)
//     je    done
//     mov   dword [c], b32
//     mov   c, [states + b]          (b modulo the lines of the window)
//     shl   c, kLineFlags
//     test  c, [has]                 (or cmp c, [owns] and je, for a write)
//     jnz   waits
//     ...   slow_paths.line_moves, which continues at `waits`
//   waits:                           the line waits for the cache
//     mov   c, [waiting]
//     mov   [c], b
//     add   c, 8
//     mov   [waiting], c
//     test  c32, waiting bytes - 1
//     jz    slow_paths
#include "line_probes.h"

#include "counting_code.h"
#include "recorder.h"

namespace numascape {
namespace {

opnd_t filter_entry(reg_id_t filter, uint32_t offset, bool write) {
    return opnd_create_base_disp(filter, DR_REG_NULL, 0,
                                 static_cast<int>(offset + (write ? kDirtyLines : 0)), OPSZ_4);
}

// The registers of a probe, as above. `a` is DR_REG_NULL if the address is a constant.
struct ProbeRegisters {
    reg_id_t a, b, c;
};

// Compares with the filter's entry for the line in `b`.
void insert_lookup(const Emitter& emit, reg_id_t b, reg_id_t c, bool write) {
    void* dc = emit.drcontext;
    const CacheShape& shape = shard.cache_shape();
    emit.add(INSTR_CREATE_imul_imm(dc, emit.reg32(c), emit.reg32(b),
                                   OPND_CREATE_INT32(static_cast<int>(kFilterHash))));
    emit.add(INSTR_CREATE_shr(dc, emit.reg32(c), OPND_CREATE_INT8(kFilterShift)));
    emit.add(INSTR_CREATE_and(dc, emit.reg32(c),
                              OPND_CREATE_INT32(static_cast<int>(CacheModel::filter_mask(shape)))));
    emit.add(INSTR_CREATE_add(dc, emit.reg(c), thread_slot(dc, ThreadSlot::kFilter)));
    emit.add(INSTR_CREATE_cmp(dc, filter_entry(c, 0, write), emit.reg32(b)));
}

// Checks whether the thread may use the line in `b`, or must take it from another thread.
void insert_state_check(const Emitter& emit, const ProbeRegisters& registers,
                        const LineProbe& probe) {
    void* dc = emit.drcontext;
    const auto [a, b, c] = registers;
    const unsigned above = 64 - (kWindowBits - shard.cache_shape().line_bits);
    instr_t* waits = INSTR_CREATE_label(dc);
    emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(c), emit.reg(b)));
    emit.add(INSTR_CREATE_shl(dc, emit.reg(c), OPND_CREATE_INT8(static_cast<int>(above))));
    emit.add(INSTR_CREATE_shr(dc, emit.reg(c), OPND_CREATE_INT8(static_cast<int>(above - 3))));
    emit.add(INSTR_CREATE_add(dc, emit.reg(c), thread_slot(dc, ThreadSlot::kLineStates)));
    emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(c), OPND_CREATE_MEM64(c, 0)));
    emit.add(INSTR_CREATE_shl(dc, emit.reg(c), OPND_CREATE_INT8(kLineFlags)));
    if (probe.write != 0) {
        emit.add(INSTR_CREATE_cmp(dc, emit.reg(c), thread_slot(dc, ThreadSlot::kOwnsLine)));
        emit.add(INSTR_CREATE_jcc(dc, OP_je, emit.label(waits)));
    } else {
        emit.add(INSTR_CREATE_test(dc, thread_slot(dc, ThreadSlot::kHasLine), emit.reg(c)));
        emit.add(INSTR_CREATE_jcc(dc, OP_jnz, emit.label(waits)));
    }
    if (probe.base == 0) {
        emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kArgument), emit.reg(a)));
    }
    LineProbe copy = probe;
    __builtin_clear_padding(&copy);
    emit_slow_path_jump(emit, slow_paths.line_moves, keep_value(&copy, sizeof copy), c, waits);
    emit.add(waits);
}

// Puts the line in `b` into its entry of the filter, at `c` + `entry`, and into the queue of lines
// that wait for the cache.
void insert_waiting(const Emitter& emit, const ProbeRegisters& registers, uint32_t entry,
                    const LineProbe& probe, instr_t* done) {
    void* dc = emit.drcontext;
    const auto [a, b, c] = registers;
    const bool write = probe.write != 0;
    const auto bytes = static_cast<int>(CacheModel::waiting_bytes(shard.cache_shape()));
    emit.add(INSTR_CREATE_mov_st(dc, filter_entry(c, entry, false), emit.reg32(b)));
    if (write) {
        emit.add(INSTR_CREATE_mov_st(dc, filter_entry(c, entry, true), emit.reg32(b)));
    }
    if (shard.shared_lines().is_open()) {
        insert_state_check(emit, registers, probe);
    }
    if (write) {
        emit.add(INSTR_CREATE_bts(dc, emit.reg(b), OPND_CREATE_INT8(kWrittenBit)));
    }
    load_thread_slot(dc, emit.block, emit.where, ThreadSlot::kWaiting, c);
    emit.add(INSTR_CREATE_mov_st(dc, OPND_CREATE_MEM64(c, 0), emit.reg(b)));
    emit.add(INSTR_CREATE_add(dc, emit.reg(c), OPND_CREATE_INT8(sizeof(WaitingLine))));
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kWaiting), emit.reg(c)));
    emit.add(INSTR_CREATE_test(dc, emit.reg32(c), OPND_CREATE_INT32(bytes - 1)));
    emit.add(INSTR_CREATE_jcc(dc, OP_jnz, emit.label(done)));
    instrlist_insert_mov_instr_addr(dc, done, nullptr, emit.reg(c), emit.block, emit.where, nullptr,
                                    nullptr);
    emit.add(INSTR_CREATE_mov_st(dc, thread_slot(dc, ThreadSlot::kReturn), emit.reg(c)));
    emit.add(INSTR_CREATE_jmp(dc, opnd_create_pc(slow_paths.lines_wait)));
    emit.add(done);
}

}  // namespace

void insert_probe_at(const Emitter& emit, PlaceScratch& scratch, reg_id_t a,
                     const LineProbe& probe) {
    void* dc = emit.drcontext;
    const int offset = probe.offset;
    const reg_id_t b = scratch.take(Role::kSecond);
    const reg_id_t c = scratch.take(Role::kLine);
    if (offset == 0) {
        emit.add(INSTR_CREATE_mov_ld(dc, emit.reg(b), emit.reg(a)));
    } else {
        emit.add(INSTR_CREATE_lea(dc, emit.reg(b),
                                  opnd_create_base_disp(a, DR_REG_NULL, 0, offset, OPSZ_lea)));
    }
    emit.add(INSTR_CREATE_shr(dc, emit.reg(b),
                              OPND_CREATE_INT8(static_cast<int>(shard.cache_shape().line_bits))));
    insert_lookup(emit, b, c, probe.write != 0);
    instr_t* done = INSTR_CREATE_label(dc);
    emit.add(INSTR_CREATE_jcc(dc, OP_je, emit.label(done)));
    insert_waiting(emit, {a, b, c}, 0, probe, done);
}

void insert_static_probe(const Emitter& emit, PlaceScratch& scratch, const LineProbe& probe) {
    void* dc = emit.drcontext;
    const CacheShape& shape = shard.cache_shape();
    const uint64_t line = (probe.base + static_cast<uint64_t>(probe.offset)) >> shape.line_bits;
    const reg_id_t b = scratch.take(Role::kSecond);
    const reg_id_t c = scratch.take(Role::kLine);
    const uint32_t entry = CacheModel::filter_offset(line, CacheModel::filter_mask(shape));
    load_thread_slot(dc, emit.block, emit.where, ThreadSlot::kFilter, c);
    emit.add(INSTR_CREATE_cmp(dc, filter_entry(c, entry, probe.write != 0),
                              OPND_CREATE_INT32(static_cast<int>(static_cast<FilterEntry>(line)))));
    instr_t* done = INSTR_CREATE_label(dc);
    emit.add(INSTR_CREATE_jcc(dc, OP_je, emit.label(done)));
    instrlist_insert_mov_immed_ptrsz(dc, static_cast<ptr_int_t>(line), emit.reg(b), emit.block,
                                     emit.where, nullptr, nullptr);
    insert_waiting(emit, {DR_REG_NULL, b, c}, entry, probe, done);
}

}  // namespace numascape
