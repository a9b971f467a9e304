// SPDX-License-Identifier: Apache-2.0
//
// _dl_find_object for the unwinder that is linked into this library. The unwinder of GCC 12 and
// later calls it, and glibc has it since 2.35. With the function below, the library also loads on
// glibc 2.34.
#include "find_object.h"

#include <cstdint>

#include <dlfcn.h>
#include <link.h>

#include "modules.h"

#ifdef DLFO_STRUCT_HAS_EH_DBASE
namespace {

struct Search {
    std::uintptr_t address;
    struct dl_find_object* result;
    bool is_found;
};

// For visit_modules: 1 if the object has the address.
int look_into(dl_phdr_info* object, std::size_t, void* argument) {
    Search& search = *static_cast<Search*>(argument);
    void* unwind_table = nullptr;
    bool has_address = false;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr) & segment = object->dlpi_phdr[i];
        const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_GNU_EH_FRAME) {
            unwind_table = reinterpret_cast<void*>(start);
        } else if (segment.p_type == PT_LOAD && search.address >= start &&
                   search.address - start < segment.p_memsz) {
            has_address = true;
            search.result->dlfo_map_start = reinterpret_cast<void*>(start);
            search.result->dlfo_map_end = reinterpret_cast<void*>(start + segment.p_memsz);
        }
    }
    if (!has_address || unwind_table == nullptr) return 0;
    search.result->dlfo_flags = 0;
    search.result->dlfo_link_map = nullptr;  // the unwinder does not use it
    search.result->dlfo_eh_frame = unwind_table;
    search.is_found = true;
    return 1;
}

}  // namespace

// Returns 0 and fills `result` if an object has the address, else -1, as glibc's.
extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(
    void* address, struct dl_find_object* result) noexcept {
    // glibc's own takes no lock.
    if (const auto find_object = numascape::placer::find_object_of_c_library()) {
        return find_object(address, result);
    }
    Search search{reinterpret_cast<std::uintptr_t>(address), result, false};
    numascape::placer::visit_modules(look_into, &search);
    return search.is_found ? 0 : -1;
}
#endif
