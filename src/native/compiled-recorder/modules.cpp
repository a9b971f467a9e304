// SPDX-License-Identifier: Apache-2.0
//
// The program, and the libraries that are loaded and unloaded.
#include <cstring>

#include <dlfcn.h>
#include <link.h>

#include "os.h"
#include "runtime.h"

namespace numascape {
namespace {

struct Module {
    uint64_t start;
    uint64_t end;
    uint64_t load_bias;
    bool seen;  // whether the last list of loaded modules had it
};
constexpr uint32_t kMaxModules = 4096;
Module modules[kMaxModules];
uint32_t module_count = 0;
SpinLock lock;

struct Visit {
    ThreadRecorder& recorder;
    uint32_t index;
};

Module extent_of(const dl_phdr_info& info) {
    Module module{~uint64_t{0}, 0, info.dlpi_addr, true};
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& segment = info.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const uint64_t low = page_floor(info.dlpi_addr + segment.p_vaddr);
            const uint64_t high = page_ceiling(info.dlpi_addr + segment.p_vaddr + segment.p_memsz);
            module.start = low < module.start ? low : module.start;
            module.end = high > module.end ? high : module.end;
        }
    }
    return module;
}

Module* find(uint64_t start) {
    for (uint32_t i = 0; i < module_count; ++i) {
        if (modules[i].start == start) {
            return &modules[i];
        }
    }
    return nullptr;
}

void write_gone(ThreadRecorder& recorder, const Module& module) {
    const uint64_t time = os::ticks();
    forget_compiled_modules(module.start, module.end);
    call_stacks.code().add_code(module.start, module.end, false);
    call_stacks.remove_module(module.start);
    shard.retire(recorder, window_page(module.start), window_page(module.end - 1) + 1, time);
    shard.forget_touches(window_page(module.start), window_page(module.end - 1) + 1);
    write_module(shard, recorder, RecordType::kModuleUnload, time + 1,
                 {"", module.start, module.end, module.load_bias});
}

// The file that is mapped at the address. The linker's name of it may be relative to an earlier
// working directory.
void path_at(uint64_t start, char (&path)[1024]) {
    struct Wanted {
        uint64_t start;
        char* path;
    } wanted{start, path};
    path[0] = '\0';
    each_process_mapping(
        [](const MappedRange& range, void* argument) {
            const auto* to = static_cast<const Wanted*>(argument);
            if (range.start == to->start) {
                append_text(to->path, range.path, sizeof path);
            }
        },
        &wanted);
}

int write_if_new(dl_phdr_info* info, size_t, void* argument) {
    auto* visit = static_cast<Visit*>(argument);
    const bool program = visit->index++ == 0;
    const Module module = extent_of(*info);
    if (module.end <= module.start) {
        return 0;
    }
    Module* known = find(module.start);
    if (known != nullptr && known->end == module.end) {
        known->seen = true;
        return 0;
    }
    if (known != nullptr) {
        write_gone(visit->recorder, *known);
        *known = modules[--module_count];
    }
    if (module_count == kMaxModules) {
        return 0;
    }
    modules[module_count++] = module;
    char found[1024];
    const char* path = program ? program_path() : info->dlpi_name;
    if (path[0] != '/') {
        path_at(module.start, found);
        path = found;
    }
    if (path[0] != '/') {
        return 0;  // the kernel's own, linux-vdso.so
    }
    call_stacks.add_module(module.start, module.end);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
            const uint64_t code = info->dlpi_addr + segment.p_vaddr;
            call_stacks.code().add_code(code, code + segment.p_memsz, true);
        }
    }
    write_module(shard, visit->recorder, RecordType::kModuleLoad, os::ticks(),
                 {path, module.start, module.end, module.load_bias});
    return 0;
}

// A note (stub.S) marks modules that were compiled with our pass.
int find_note(dl_phdr_info* info, size_t, void* found) {
    constexpr char kName[] = "Numascape";
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) {
            continue;
        }
        const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
        const char* end = at + segment.p_memsz;
        const uint64_t align = segment.p_align == 8 ? 8 : 4;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
            const char* name = at + sizeof *note;
            if (note->n_namesz == sizeof kName && std::memcmp(name, kName, sizeof kName) == 0) {
                *static_cast<bool*>(found) = true;
                return 1;
            }
            const uint64_t names = (note->n_namesz + align - 1) / align * align;
            const uint64_t content = (note->n_descsz + align - 1) / align * align;
            at = name + names + content;
        }
    }
    return 0;
}

}  // namespace

bool compiled_code_is_loaded() {
    bool found = false;
    dl_iterate_phdr(find_note, &found);
    return found;
}

void write_new_modules(ThreadRecorder& recorder) {
    SpinGuard guard(lock);
    for (uint32_t i = 0; i < module_count; ++i) {
        modules[i].seen = false;
    }
    Visit visit{recorder, 0};
    dl_iterate_phdr(write_if_new, &visit);
    for (uint32_t i = 0; i < module_count;) {
        if (modules[i].seen) {
            ++i;
        } else {
            write_gone(recorder, modules[i]);
            modules[i] = modules[--module_count];
        }
    }
}

void modules_before_fork() {
    lock.lock();
}

void modules_after_fork(bool child) {
    module_count = child ? 0 : module_count;
    lock.unlock();
}

}  // namespace numascape

NUMASCAPE_EXPORTED int dlclose(void* library) {
    using namespace numascape;
    static int (*real)(void*) = nullptr;
    const int result = next_of(real, "dlclose")(library);
    const ReentrancyGuard inside;
    ThreadRecorder* recorder = recording() ? begin_thread() : nullptr;
    if (recorder != nullptr) {
        write_new_modules(*recorder);
    }
    return result;
}
