// SPDX-License-Identifier: Apache-2.0
//
// Which functions of the program are hooked, at their first instruction: the allocation functions
// (allocations.cpp) and those that begin parallel regions (regions.cpp), of every module.
#include "hooks.h"

#include <string_view>

#include "recorder.h"

namespace numascape {
namespace {

struct HookedFunction {
    const char* name;
    Hooked kind;
};

// The C library's functions and the C++ operators by their mangled names (Itanium ABI); then what
// compilers call for `#pragma omp parallel` and its combinations (GCC's libgomp, also of before
// version 4.9, and LLVM's and Intel's libomp).
constexpr HookedFunction kFunctions[] = {
    {"malloc", Hooked::kMalloc},
    {"calloc", Hooked::kCalloc},
    {"realloc", Hooked::kRealloc},
    {"reallocarray", Hooked::kReallocArray},
    {"aligned_alloc", Hooked::kAligned},
    {"memalign", Hooked::kAligned},
    {"valloc", Hooked::kMalloc},
    {"pvalloc", Hooked::kMalloc},
    {"posix_memalign", Hooked::kPosixMemalign},
    {"_Znwm", Hooked::kMalloc},
    {"_Znam", Hooked::kMalloc},
    {"_ZnwmRKSt9nothrow_t", Hooked::kMalloc},
    {"_ZnamRKSt9nothrow_t", Hooked::kMalloc},
    {"_ZnwmSt11align_val_t", Hooked::kMalloc},
    {"_ZnamSt11align_val_t", Hooked::kMalloc},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", Hooked::kMalloc},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", Hooked::kMalloc},
    {"free", Hooked::kFree},
    {"cfree", Hooked::kFree},
    {"_ZdlPv", Hooked::kFree},
    {"_ZdaPv", Hooked::kFree},
    {"_ZdlPvm", Hooked::kFree},
    {"_ZdaPvm", Hooked::kFree},
    {"_Unwind_RaiseException", Hooked::kUnwind},
    {"_Unwind_ForcedUnwind", Hooked::kUnwind},
    {"GOMP_parallel", Hooked::kRegion},
    {"GOMP_parallel_reductions", Hooked::kRegion},
    {"GOMP_parallel_sections", Hooked::kRegion},
    {"GOMP_parallel_loop_static", Hooked::kRegion},
    {"GOMP_parallel_loop_dynamic", Hooked::kRegion},
    {"GOMP_parallel_loop_guided", Hooked::kRegion},
    {"GOMP_parallel_loop_runtime", Hooked::kRegion},
    {"GOMP_parallel_loop_nonmonotonic_dynamic", Hooked::kRegion},
    {"GOMP_parallel_loop_nonmonotonic_guided", Hooked::kRegion},
    {"GOMP_parallel_loop_nonmonotonic_runtime", Hooked::kRegion},
    {"GOMP_parallel_loop_maybe_nonmonotonic_runtime", Hooked::kRegion},
    {"GOMP_teams_reg", Hooked::kRegion},
    {"GOMP_parallel_start", Hooked::kRegionStart},
    {"GOMP_parallel_sections_start", Hooked::kRegionStart},
    {"GOMP_parallel_loop_static_start", Hooked::kRegionStart},
    {"GOMP_parallel_loop_dynamic_start", Hooked::kRegionStart},
    {"GOMP_parallel_loop_guided_start", Hooked::kRegionStart},
    {"GOMP_parallel_loop_runtime_start", Hooked::kRegionStart},
    {"GOMP_parallel_end", Hooked::kRegionEnd},
    {"__kmpc_fork_call", Hooked::kRegionThird},
    {"__kmpc_fork_call_if", Hooked::kRegionThird},
    {"__kmpc_fork_teams", Hooked::kRegionThird},
};
constexpr size_t kFunctionCount = sizeof kFunctions / sizeof *kFunctions;

// The library that carries out a plan is called in place of the C library's functions, which it
// calls for all that the plan is not about; what it allocates itself goes through these.
constexpr HookedFunction kPlacerFunctions[] = {
    {"numascape_placer_allocate", Hooked::kMalloc},
    {"numascape_placer_free", Hooked::kFree},
};

// A few hundred modules may each bring some; open addressing by address.
constexpr uint32_t kHooks = 4096;
FunctionHook hooks[kHooks];
SpinLock hooks_lock;

uint32_t hook_place(uint64_t address) {
    return static_cast<uint32_t>((address * 0x9e3779b97f4a7c15u) >> 40) % kHooks;
}

void add_hook(uint64_t address, Hooked kind) {
    SpinGuard guard(hooks_lock);
    uint32_t at = hook_place(address);
    for (uint32_t tries = 0; tries < kHooks; ++tries, at = (at + 1) % kHooks) {
        const uint64_t there = hooks[at].address.load(std::memory_order_relaxed);
        if (there == address || there == 0) {
            hooks[at].pc = address;
            hooks[at].kind = kind;
            hooks[at].address.store(address, std::memory_order_release);
            return;
        }
    }
}

std::string_view file_name(const module_data_t* module) {
    const std::string_view path = module->full_path;
    std::string_view name = path;
    name.remove_prefix(path.rfind('/') + 1);
    return name;
}

// The C++ libraries' own operators call malloc, which sees the same call stack.
bool is_cxx_library(const module_data_t* module) {
    const std::string_view name = file_name(module);
    return name.starts_with("libstdc++.") || name.starts_with("libc++.");
}

bool is_placer(const module_data_t* module) {
    return file_name(module).starts_with("libnumascape_placer.");
}

bool is_wanted(const module_data_t* module, const HookedFunction& function, app_pc found) {
    const bool is_operator = std::string_view(function.name).starts_with("_Zn") ||
                             std::string_view(function.name).starts_with("_Zd");
    if (is_region(function.kind) && !options.regions) {
        return false;
    }
    // A lookup may resolve to another module's definition.
    return found != nullptr && dr_module_contains_addr(module, found) &&
           !(is_operator && is_cxx_library(module));
}

template <size_t N>
void hook_exported(const module_data_t* module, const HookedFunction (&functions)[N]) {
    for (const HookedFunction& function : functions) {
        auto found = reinterpret_cast<app_pc>(dr_get_proc_address(module->handle, function.name));
        if (is_wanted(module, function, found)) {
            add_hook(reinterpret_cast<uint64_t>(found), function.kind);
        }
    }
}

void hook_symbol_table(const module_data_t* module) {
    SymbolWanted wanted[kFunctionCount];
    for (size_t i = 0; i < kFunctionCount; ++i) {
        wanted[i] = {kFunctions[i].name, 0};
    }
    find_symbols(module->full_path, reinterpret_cast<uint64_t>(module->start), wanted,
                 kFunctionCount);
    for (size_t i = 0; i < kFunctionCount; ++i) {
        if (is_wanted(module, kFunctions[i], reinterpret_cast<app_pc>(wanted[i].address))) {
            add_hook(wanted[i].address, kFunctions[i].kind);
        }
    }
}

}  // namespace

const FunctionHook* function_hook(app_pc function) {
    const auto address = reinterpret_cast<uint64_t>(function);
    uint32_t at = hook_place(address);
    for (uint32_t tries = 0; tries < kHooks; ++tries, at = (at + 1) % kHooks) {
        const uint64_t there = hooks[at].address.load(std::memory_order_acquire);
        if (there == address) {
            return &hooks[at];
        }
        if (there == 0) {
            break;
        }
    }
    return nullptr;
}

void hooks_module_loaded(const module_data_t* module) {
    if (is_placer(module)) {
        hook_exported(module, kPlacerFunctions);
        return;
    }
    hook_exported(module, kFunctions);
    module_data_t* main = dr_get_main_module();
    const bool is_main = main != nullptr && main->start == module->start;
    dr_free_module_data(main);
    if (is_main) {
        hook_symbol_table(module);  // a static program's malloc is in no dynamic table
    }
}

void hooks_after_fork() {
    hooks_lock.reset();
}

}  // namespace numascape
