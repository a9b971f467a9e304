// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "module_map.h"
#include "structure_parts.h"

namespace numascape::symbols {

// A variable that debug information places at a fixed address.
struct StaticVariable {
    std::uint64_t address;  // see Storage
    std::uint64_t size;     // bytes by its type; 0 when the type does not say
    std::string name;       // qualified, see Global
    std::string function;
    std::string file;
    std::uint32_t line;
    bool points_to_data;  // see Global
    std::vector<StructurePart> parts;
};

// A Fortran COMMON block in the layout of one program unit.
struct CommonBlock {
    std::string name;                     // as in the source, empty for blank COMMON
    std::vector<StaticVariable> members;  // by address, not empty
};

struct StaticVariables {
    std::vector<StaticVariable> variables;
    std::vector<CommonBlock> blocks;
};

// All of a module's DWARF; empty without debug information.
StaticVariables static_variables(const LoadedModule& module, Storage storage);

}  // namespace numascape::symbols
