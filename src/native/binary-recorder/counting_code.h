// SPDX-License-Identifier: Apache-2.0
//
// The parts of the inlined counting code; instrument.cpp combines them.
#pragma once

#include "dr_api.h"
#include "scratch.h"
#include "shard_format.h"

namespace numascape {

// Says when `span` bytes may lie on two pages.
enum class PageCrossing { kNever, kWhenUnaligned, kByAddress };

// For kByAddress. `a` holds the address plus the margin, a power of two that is not below
// `span` - 1: one test shows that `a` and all bytes are on one page. For the few others, jumps to
// `second_look`, behind the counting code.
int crossing_margin(int64_t span);
void insert_margin_check(const Emitter& emit, int margin, reg_id_t a, instr_t* second_look);
// Gives `a` the address. Jumps to `leave`, carry clear, if the bytes lie on two pages; otherwise to
// `counted`.
void insert_exact_look(const Emitter& emit, int span, int margin, reg_id_t a, instr_t* counted,
                       instr_t* leave);

// Jumps to `leave`, carry clear, if `span` bytes at the address in `a` lie on two pages. With a
// `unit` that is smaller than a page: if they lie on two units. Overwrites `b`.
void insert_page_crossing_check(const Emitter& emit, int span, reg_id_t a, reg_id_t b,
                                instr_t* leave, int unit = kPageBytes);

// For kWhenUnaligned, with 2, 4 or 8 bytes at the address in `a`. One test shows that an access is
// aligned, as most are. For the others, jumps to `second_look`, behind the counting code.
void insert_alignment_check(const Emitter& emit, int bytes, reg_id_t a, instr_t* second_look);
// Jumps to `leave`, carry clear, if the bytes lie on two pages (or units); otherwise to `counted`.
// `a` then has the address, or an address on the same page (or unit).
void insert_second_look(const Emitter& emit, int bytes, int unit, reg_id_t a, instr_t* counted,
                        instr_t* leave);

// The address in `a` becomes the offset of its page counter.
void insert_counter_offset(const Emitter& emit, reg_id_t a);

// Counts `count` reads or writes in the page counter at `table` + `a`; carry: the counter was zero.
void insert_subtraction(const Emitter& emit, reg_id_t table, reg_id_t a, bool write,
                        uint32_t count);

// Jumps to `code`; it continues at `back`. `scratch` is overwritten, arguments are in place.
void emit_slow_path_jump(const Emitter& emit, app_pc code, const void* info, reg_id_t scratch,
                         instr_t* back);

// Computes the address of a memory operand; `second` may be overwritten.
void insert_address_of(const Emitter& emit, opnd_t operand, reg_id_t into, reg_id_t second);

}  // namespace numascape
