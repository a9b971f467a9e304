// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gelf.h>

namespace numascape::symbols {

// Ranks the names of one address (`environ`, `_environ`, `__environ`) by readability; lower is
// better. Counts leading underscores, then prefers global to weak to local binding.
inline int choice_rank(const char* name, const GElf_Sym& symbol) {
    int underscores = 0;
    const bool mangled = name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
    while (!mangled && name[underscores] == '_') ++underscores;
    const int binding = GELF_ST_BIND(symbol.st_info);
    const int binding_rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
    return underscores * 4 + binding_rank;
}

}  // namespace numascape::symbols
