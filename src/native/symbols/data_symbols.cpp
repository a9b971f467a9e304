// SPDX-License-Identifier: Apache-2.0
#include "data_symbols.h"

#include <tuple>

#include "demangle.h"
#include "symbol_choice.h"

namespace numascape::symbols {

std::map<std::uint64_t, DataSymbol> data_symbols(const LoadedModule& module, Storage storage) {
    const int type = storage == Storage::kProcess ? STT_OBJECT : STT_TLS;
    struct Candidate {
        std::uint64_t size;
        int rank;
        std::string_view name;
    };
    std::map<std::uint64_t, Candidate> best;
    if (module.dwfl() == nullptr) return {};
    const int count = dwfl_module_getsymtab(module.dwfl());
    for (int i = 1; i < count; ++i) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        GElf_Word section = 0;
        const char* name = dwfl_module_getsym_info(module.dwfl(), i, &symbol, &address, &section,
                                                   nullptr, nullptr);
        if (name == nullptr || *name == '\0' || symbol.st_size == 0) continue;
        if (GELF_ST_TYPE(symbol.st_info) != type) continue;
        if (section == SHN_UNDEF || section == SHN_ABS) continue;
        if (storage == Storage::kThread) address = symbol.st_value;
        const Candidate candidate{symbol.st_size, choice_rank(name, symbol), name};
        const auto [entry, is_new] = best.try_emplace(address, candidate);
        const auto order = [](const Candidate& c) {
            return std::make_tuple(~c.size, c.rank, c.name.size(), c.name);
        };
        if (!is_new && order(candidate) < order(entry->second)) entry->second = candidate;
    }
    std::map<std::uint64_t, DataSymbol> symbols;
    for (const auto& [address, chosen] : best) {
        // The names are NUL-terminated, because they come from a string table.
        symbols[address] = {address, chosen.size, readable_name(chosen.name.data())};
    }
    return symbols;
}

}  // namespace numascape::symbols
