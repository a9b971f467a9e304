// SPDX-License-Identifier: Apache-2.0
#include "function_symbols.h"

#include <algorithm>
#include <tuple>

#include "demangle.h"
#include "symbol_choice.h"

namespace numascape::symbols {

FunctionSymbols::FunctionSymbols(Dwfl_Module* module) {
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; ++i) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        GElf_Word section = 0;
        const char* name =
            dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
        const int type = GELF_ST_TYPE(symbol.st_info);
        if (name == nullptr || *name == '\0' || section == SHN_UNDEF) continue;
        if (type != STT_FUNC && type != STT_GNU_IFUNC) continue;
        functions_.push_back({address, symbol.st_size, section, choice_rank(name, symbol), name});
    }
    std::stable_sort(functions_.begin(), functions_.end(), [](const auto& a, const auto& b) {
        return std::tie(a.start, a.rank) < std::tie(b.start, b.rank);
    });
}

FunctionSymbols::Match FunctionSymbols::find(std::uint64_t pc) {
    auto after =
        std::upper_bound(functions_.begin(), functions_.end(), pc,
                         [](std::uint64_t value, const Function& f) { return value < f.start; });
    if (after == functions_.begin()) return {{}, 0};
    const std::uint64_t start = std::prev(after)->start;
    auto first =
        std::lower_bound(functions_.begin(), after, start,
                         [](const Function& f, std::uint64_t value) { return f.start < value; });
    for (; first != after; ++first) {
        if (first->size != 0 && pc - start >= first->size) continue;
        return {readable(first->name), pc - start};
    }
    return {{}, 0};
}

const std::string& FunctionSymbols::readable(const char* name) {
    const auto [known, is_new] = readable_.try_emplace(name);
    if (is_new) known->second = readable_name(name);
    return known->second;
}

}  // namespace numascape::symbols
