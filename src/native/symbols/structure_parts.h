// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <vector>

namespace numascape::symbols {

// A part of a variable that is a large structure.
struct StructurePart {
    std::string name;  // what the source writes after the variable: `.field.x`, in Fortran `%x`;
                       // empty for several small members together
    std::uint64_t offset;
    std::uint64_t size;
    std::string file;  // of the member's declaration
    std::uint32_t line;
};

// The parts of the variable, by offset and without overlap: each member of at least a page, also of
// structures in it, and the smaller members between these. Empty if it is no structure with several
// members, or has no such member. Arrays of structures, unions, and types of the languages'
// libraries are not divided.
std::vector<StructurePart> structure_parts(Dwarf_Die& variable);

}  // namespace numascape::symbols
