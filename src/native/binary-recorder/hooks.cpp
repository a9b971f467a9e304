// SPDX-License-Identifier: Apache-2.0
//
// The functions of the program that are hooked, at their first instruction: in every module, the
// allocation functions (allocations.cpp) and those that begin parallel regions (regions.cpp).
#include "hooks.h"

#include <string_view>

#include "embedded_allocators.h"
#include "recorder.h"

namespace numascape {
namespace {

struct HookedFunction {
    const char* name;
    Hooked kind;
};

// First the C library's functions, and the C++ operators by their mangled names (Itanium ABI). Then
// the functions that compilers call for `#pragma omp parallel` and its combinations: of GCC's
// libgomp, also before version 4.9, and of LLVM's and Intel's libomp.
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

// The library that applies a plan replaces the functions of the C library, and calls them for
// everything that is not in the plan. Its own allocations go through these functions.
constexpr HookedFunction kPlacerFunctions[] = {
    {"numascape_placer_allocate", Hooked::kMalloc},
    {"numascape_placer_free", Hooked::kFree},
};

// A hash table by address, with open addressing. A few hundred modules may each have some hooks. If
// a module is unloaded, its hooks keep their entries, because the module may be loaded again, and
// code that is being removed may still refer to them. If all entries were used once, such an entry
// is reused for another hook.
constexpr uint32_t kHooks = 4096;
FunctionHook hooks[kHooks];
SpinLock hooks_lock;

uint32_t hook_place(uint64_t address) {
    return static_cast<uint32_t>((address * 0x9e3779b97f4a7c15u) >> 40) % kHooks;
}

// The entry of the hook of `address`, or a free entry if it has none; null if all entries are
// taken.
FunctionHook* place_for_hook(uint64_t address) {
    FunctionHook* unused = nullptr;
    uint32_t at = hook_place(address);
    for (uint32_t tries = 0; tries < kHooks; ++tries, at = (at + 1) % kHooks) {
        FunctionHook& hook = hooks[at];
        const uint64_t there = hook.address.load(std::memory_order_relaxed);
        if (there == address || there == 0) {
            return &hook;
        }
        if (unused == nullptr && !hook.in_force.load(std::memory_order_relaxed)) {
            unused = &hook;
        }
    }
    return unused;
}

void add_hook(uint64_t address, Hooked kind) {
    SpinGuard guard(hooks_lock);
    if (FunctionHook* hook = place_for_hook(address)) {
        hook->pc = address;
        hook->kind = kind;
        hook->address.store(address, std::memory_order_release);
        hook->in_force.store(true, std::memory_order_release);
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

void hook_embedded(const module_data_t* module, app_pc found, Hooked kind) {
    if (found != nullptr && dr_module_contains_addr(module, found)) {
        add_hook(reinterpret_cast<uint64_t>(found), kind);
    }
}

// Hooks functions that the module has but does not export: those of allocators that it contains. In
// the program itself, also those of the C library, because the malloc of a static program is in no
// dynamic table.
void hook_symbol_table(const module_data_t* module, bool is_main) {
    struct Search {
        const module_data_t* module;
        bool is_main;
    } search{module, is_main};
    const auto hook_symbol = [](std::string_view name, uint64_t address, void* argument) {
        const auto& in = *static_cast<const Search*>(argument);
        const auto found = reinterpret_cast<app_pc>(address);
        Hooked kind;
        if (find_embedded_allocator(name, kind)) {
            hook_embedded(in.module, found, kind);
        }
        for (size_t i = 0; in.is_main && i < kFunctionCount; ++i) {
            if (name == kFunctions[i].name && is_wanted(in.module, kFunctions[i], found)) {
                add_hook(address, kFunctions[i].kind);
            }
        }
    };
    each_function_symbol(module->full_path, reinterpret_cast<uint64_t>(module->start),
                         {hook_symbol, &search});
}

}  // namespace

const FunctionHook* function_hook(app_pc function) {
    const auto address = reinterpret_cast<uint64_t>(function);
    uint32_t at = hook_place(address);
    for (uint32_t tries = 0; tries < kHooks; ++tries, at = (at + 1) % kHooks) {
        const uint64_t there = hooks[at].address.load(std::memory_order_acquire);
        if (there == address) {
            return hooks[at].in_force.load(std::memory_order_acquire) ? &hooks[at] : nullptr;
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
    each_exported_allocator(module, hook_embedded);
    module_data_t* main = dr_get_main_module();
    const bool is_main = main != nullptr && main->start == module->start;
    dr_free_module_data(main);
    hook_symbol_table(module, is_main);
}

void hooks_module_unloaded(const module_data_t* module) {
    SpinGuard guard(hooks_lock);
    for (FunctionHook& hook : hooks) {
        const uint64_t address = hook.address.load(std::memory_order_relaxed);
        if (address != 0 && dr_module_contains_addr(module, reinterpret_cast<app_pc>(address))) {
            hook.in_force.store(false, std::memory_order_release);
        }
    }
}

void hooks_after_fork() {
    hooks_lock.reset();
}

}  // namespace numascape
