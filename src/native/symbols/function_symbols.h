// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace numascape::symbols {

// The functions in a file's symbol tables (.symtab, that of separate or compressed "mini" debug
// information, else .dynsym), at their run-time addresses.
class FunctionSymbols {
  public:
    explicit FunctionSymbols(Dwfl_Module* module);

    struct Match {
        std::string name;      // readable, empty when no function covers the address
        std::uint64_t offset;  // from the function's start
    };
    Match find(std::uint64_t pc);

  private:
    struct Function {
        std::uint64_t start;
        std::uint64_t size;  // 0: written in assembly without a size, reaches to the next function
        std::uint32_t section;
        int rank;
        const char* name;
    };
    const std::string& readable(const char* name);

    std::vector<Function> functions_;                        // by start
    std::unordered_map<const char*, std::string> readable_;  // by name in the symbol table
};

}  // namespace numascape::symbols
