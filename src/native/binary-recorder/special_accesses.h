// SPDX-License-Identifier: Apache-2.0
//
// Accesses whose extent is known only when they run: what the inserted code (special_accesses.cpp)
// tells the counting code (out_of_line.cpp) of each such instruction.
#pragma once

#include <cstdint>

#include "access_groups.h"

namespace numascape {

struct SpecialPlace {
    PlaceInfo info;  // the site is that of reads; that of writes is the next one
    uint32_t block;
    uint32_t own_counter;  // 0: counts with its block
};

// What an execution of the instruction counts; `exact` when as often as its block runs.
struct SpecialCounts {
    bool reads;
    bool writes;
    bool exact;
};
SpecialCounts special_counts(instr_t* instruction);

// rep movs, stos, lods: rcx elements from rsi or to rdi.
struct RepeatedString {
    SpecialPlace place;
    uint32_t bytes;  // of an element
    bool reads;
    bool writes;
};

// bt, bts, btr, btc of memory with the bit's number (signed) in a register of `bytes`: the operand
// that holds the bit is accessed.
struct BitTest {
    SpecialPlace place;
    uint32_t bytes;
    bool write;
};

// A vector of which a mask selects lanes: it touches what they touch.
struct MaskedShape {
    SpecialPlace place;
    uint32_t element_bytes;  // 0: the whole operand when any lane is selected
    uint32_t operand_bytes;
    bool packed;  // compress and expand: as many leading elements as lanes are selected
    bool write;
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
