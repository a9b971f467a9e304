// SPDX-License-Identifier: Apache-2.0
#include "embedded_allocators.h"

#include <algorithm>

namespace numascape {
namespace {

// The prefixes of the names of jemalloc's and mimalloc's functions.
constexpr std::string_view kPrefixes[] = {"je_", "_rjem_", "mi_"};

// The names behind the prefix. The arguments that matter here are in the order of the C library's
// function of the same kind. `sdallocx` and similar functions have the block as first argument.
struct EmbeddedFunction {
    std::string_view name;
    Hooked kind;
};
constexpr EmbeddedFunction kFunctions[] = {
    {"malloc", Hooked::kMalloc},
    {"calloc", Hooked::kCalloc},
    {"realloc", Hooked::kRealloc},
    {"aligned_alloc", Hooked::kAligned},
    {"memalign", Hooked::kAligned},
    {"posix_memalign", Hooked::kPosixMemalign},
    {"free", Hooked::kFree},
    // jemalloc only
    {"mallocx", Hooked::kMalloc},
    {"rallocx", Hooked::kRealloc},
    {"dallocx", Hooked::kFree},
    {"sdallocx", Hooked::kFree},
    // mimalloc only
    {"zalloc", Hooked::kMalloc},
    {"malloc_aligned", Hooked::kMalloc},
    {"zalloc_aligned", Hooked::kMalloc},
    {"realloc_aligned", Hooked::kRealloc},
    {"free_size", Hooked::kFree},
    {"free_aligned", Hooked::kFree},
    {"free_size_aligned", Hooked::kFree},
};

app_pc exported(const module_data_t* module, std::string_view prefix, std::string_view function) {
    char name[64] = {};
    std::copy(prefix.begin(), prefix.end(), name);
    std::copy(function.begin(), function.end(), name + prefix.size());
    return reinterpret_cast<app_pc>(dr_get_proc_address(module->handle, name));
}

}  // namespace

bool find_embedded_allocator(std::string_view function, Hooked& kind) {
    for (const std::string_view prefix : kPrefixes) {
        if (!function.starts_with(prefix)) {
            continue;
        }
        for (const EmbeddedFunction& known : kFunctions) {
            if (function.substr(prefix.size()) == known.name) {
                kind = known.kind;
                return true;
            }
        }
    }
    return false;
}

void each_exported_allocator(const module_data_t* module,
                             void (*visit)(const module_data_t*, app_pc, Hooked)) {
    for (const std::string_view prefix : kPrefixes) {
        // Most modules have none: one look-up for each prefix.
        if (exported(module, prefix, "malloc") == nullptr) {
            continue;
        }
        for (const EmbeddedFunction& known : kFunctions) {
            visit(module, exported(module, prefix, known.name), known.kind);
        }
    }
}

}  // namespace numascape
