// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "module_map.h"

namespace numascape::symbols {

// A data object of a symbol table.
struct DataSymbol {
    std::uint64_t address;  // see Storage
    std::uint64_t size;     // bytes, not 0
    std::string name;       // readable
};

// The data objects of the module, one per address. Of several aliases, the largest is used, then
// the one with the plainest name.
std::map<std::uint64_t, DataSymbol> data_symbols(const LoadedModule& module, Storage storage);

}  // namespace numascape::symbols
