// SPDX-License-Identifier: Apache-2.0
//
// The part of a compiled program or library that knows whether it is being recorded. If it is not,
// the code counts into memory that nobody reads, and the program runs as usual.
#include "abi.h"
#include "block_counters.h"
#include "os.h"

using namespace numascape;

#define HIDDEN __attribute__((visibility("hidden")))

extern "C" {

// The linker puts these at the ends of the section kSiteSection, if there is one.
extern const Site __start_numascape_sites[] __attribute__((weak)) HIDDEN;
extern const Site __stop_numascape_sites[] __attribute__((weak)) HIDDEN;

// `numascape record` preloads a library that defines it.
extern const CompiledRuntime numascape_compiled_runtime __attribute__((weak));

HIDDEN __thread ModuleThread __numascape_thread __attribute__((tls_model("initial-exec")));
HIDDEN uint64_t __numascape_sites_offset;

HIDDEN void* __numascape_stub_enter();
HIDDEN void __numascape_stub_touch(void* table, uint64_t counter_offset, uint64_t place,
                                   const void* pc);
HIDDEN void* __numascape_stub_block(void* table, const Site* site);
HIDDEN void __numascape_stub_note(void* table, const Site* site, uint64_t address);
HIDDEN void __numascape_stub_range(const NestCounts* nest, uint64_t start, const Site* site,
                                   const void* pc);
HIDDEN void __numascape_stub_mark(const char* name, uint64_t, uint64_t, const void* pc);
HIDDEN void __numascape_stub_region(const void* function, uint64_t, uint64_t, const void* pc);
HIDDEN void __numascape_stub_memory_region(const char* name, uint64_t address, uint64_t bytes,
                                           const void* pc);

}  // extern "C"

namespace {

ModuleThread* this_thread() {
    return &__numascape_thread;
}

CompiledModule module{kCompiledVersion,          0,
                      __start_numascape_sites,   __stop_numascape_sites,
                      &__numascape_sites_offset, this_thread};

// Null if the program is not recorded.
const CompiledRuntime* runtime() {
    const CompiledRuntime* known = &numascape_compiled_runtime;
    return known != nullptr && known->version == kCompiledVersion ? known : nullptr;
}

[[noreturn]] void give_up() {
    constexpr char kMessage[] =
        "numascape: no address space for this thread's counters (4 GiB; see ulimit -v)\n";
    os::call(SYS_write, 2, reinterpret_cast<long>(kMessage), sizeof kMessage - 1);
    os::call(SYS_exit_group, 2);
    __builtin_unreachable();
}

// Counters that are never read. All threads share them if there is no memory for more.
void* enter_unrecorded() {
    static void* shared = nullptr;
    void* memory = os::map_sparse(kTableStride);
    if (!os::failed(memory)) {
        shared = memory;
    } else if (shared == nullptr) {
        give_up();
    }
    void* room = os::failed(memory) ? shared : memory;
    const auto sites = reinterpret_cast<uint64_t>(module.sites);
    const auto bytes = reinterpret_cast<uint64_t>(module.sites_end) - sites;
    // The counter of the last entry is directly below the page counters. If there are too many
    // entries, counters overlap; this does no harm, because nobody reads them.
    __numascape_sites_offset = 0 - sites - (bytes < kCountersBytes ? bytes : kCountersBytes);
    PageCounter* table = table_in(room);
    __numascape_thread.table = table;
    return table;
}

// Fills the counter, so that it does not run out again.
void fill_counter(void* table, const Site* site) {
    const uint64_t counter = reinterpret_cast<uint64_t>(table) + __numascape_sites_offset +
                             reinterpret_cast<uint64_t>(site);
    *reinterpret_cast<uint64_t*>(counter) = ~uint64_t{0};
}

}  // namespace

void* __numascape_stub_enter() {
    const CompiledRuntime* recorder = runtime();
    return recorder != nullptr ? recorder->enter(&module) : enter_unrecorded();
}

void __numascape_stub_touch(void* table, uint64_t counter_offset, uint64_t place, const void* pc) {
    if (const CompiledRuntime* recorder = runtime()) {
        recorder->touch(table, counter_offset, place, pc);
    }
}

void* __numascape_stub_block(void* table, const Site* site) {
    if (const CompiledRuntime* recorder = runtime()) {
        return recorder->block(table, site, &module);
    }
    fill_counter(table, site);
    return table;
}

void __numascape_stub_note(void* table, const Site* site, uint64_t address) {
    if (const CompiledRuntime* recorder = runtime()) {
        recorder->note(table, site, address, &module);
    } else {
        fill_counter(table, site);
    }
}

void __numascape_stub_range(const NestCounts* nest, uint64_t start, const Site* site,
                            const void* pc) {
    if (const CompiledRuntime* recorder = runtime()) {
        recorder->range(nest, start, site, pc, &module);
    }
}

void __numascape_stub_mark(const char* name, uint64_t, uint64_t, const void* pc) {
    if (const CompiledRuntime* recorder = runtime()) {
        recorder->mark(name, pc);
    }
}

void __numascape_stub_region(const void* function, uint64_t, uint64_t, const void* pc) {
    if (const CompiledRuntime* recorder = runtime()) {
        recorder->region(function, pc);
    }
}

void __numascape_stub_memory_region(const char* name, uint64_t address, uint64_t bytes,
                                    const void* pc) {
    if (const CompiledRuntime* recorder = runtime()) {
        recorder->memory_region(name, address, bytes, pc);
    }
}
