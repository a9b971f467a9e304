// SPDX-License-Identifier: Apache-2.0
//
// Accesses whose extent is known only at run time: what the inserted code (special_accesses.cpp)
// passes to the counting code (slow_paths.cpp) for each such instruction.
#pragma once

#include <cstdint>

#include "access_groups.h"
#include "masked_operands.h"

namespace numascape {

struct SpecialPlace {
    PlaceInfo info;  // its site is for reads; the next site is for writes
    uint32_t block;
    uint32_t own_counter;  // 0: it counts with its block
};

// rep movs, rep stos and rep lods. The decrease of rcx is the number of processed elements. The
// elements end where rsi and rdi point afterwards.
struct RepeatedString {
    SpecialPlace place;
    uint32_t bytes;  // of an element
    bool reads;
    bool writes;
    bool narrow;  // uses only 32 bits of these registers
};
// The repeated string instruction at this address of the program's code, or null.
const RepeatedString* repeated_string_at(uint64_t pc);

// bt, bts, btr, btc of memory with the bit's number (signed) in a register of `bytes`: the operand
// that holds the bit is accessed.
struct BitTest {
    SpecialPlace place;
    uint32_t bytes;
    bool write;
};

// A vector operand with a mask: only the memory of selected lanes is accessed.
struct MaskedShape {
    SpecialPlace place;
    MaskedLanes lanes;
    bool write;
};

// xsave and similar instructions. They access the components for which rax asks.
struct SavedState {
    SpecialPlace place;
    bool write;
    bool compacted;  // by xsavec; for xrstor, the area itself says so
};

// A gather or scatter: each selected lane is an access at base + index * scale.
struct GatherShape {
    SpecialPlace place;
    uint32_t lanes;
    uint32_t element_bytes;
    uint32_t index_bytes;  // 4 or 8, signed
    uint32_t scale;
    bool write;
};

}  // namespace numascape
