// SPDX-License-Identifier: Apache-2.0
//
// The program's address space: mappings by system call, modules, where pages are.
#include <elf.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "dr_api.h"
#include "drmgr.h"
#include "os.h"
#include "phases.h"
#include "recorder.h"

namespace numascape {
namespace {

struct PendingCall {
    uint64_t arguments[4];
    uint64_t stack_id;
};
int pending_index = -1;
std::atomic<uint64_t> program_break{0};

void path_of_file(int file, char (&path)[1024]) {
    char link[64];
    dr_snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    link[sizeof link - 1] = '\0';
    const long length = os::call(SYS_readlink, reinterpret_cast<long>(link),
                                 reinterpret_cast<long>(path), sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
}

uint64_t stack_here(void* drcontext, ThreadRecorder& recorder) {
    dr_mcontext_t context;
    context.size = sizeof context;
    context.flags = static_cast<dr_mcontext_flags_t>(DR_MC_INTEGER | DR_MC_CONTROL);
    dr_get_mcontext(drcontext, &context);
    ProgramRegisters registers{};
    registers.rax = context.xax;
    registers.rbx = context.xbx;
    registers.rcx = context.xcx;
    registers.rdx = context.xdx;
    registers.rsi = context.xsi;
    registers.rdi = context.xdi;
    registers.rbp = context.xbp;
    registers.r8 = context.r8;
    registers.r9 = context.r9;
    registers.r10 = context.r10;
    registers.r11 = context.r11;
    registers.r12 = context.r12;
    registers.r13 = context.r13;
    registers.r14 = context.r14;
    registers.r15 = context.r15;
    return call_stack(recorder, registers, reinterpret_cast<uint64_t>(context.pc), context.xsp);
}

// Buffers that a system call filled: the kernel touched their pages for this thread.
void touch_range(ThreadRecorder& recorder, uint64_t start, uint64_t bytes, uint64_t pc) {
    for (uint64_t at = page_floor(start); at < start + bytes; at += kPageBytes) {
        shard.touch_by_kernel(recorder, window_page(at), pc);
    }
}

bool of_interest(void*, int number) {
    switch (number) {
        case SYS_mmap:
        case SYS_munmap:
        case SYS_mremap:
        case SYS_brk:
        case SYS_madvise:
        case SYS_read:
        case SYS_pread64:
        case SYS_recvfrom:
        case SYS_execve:
        case SYS_close_range:
            return true;
        default:
            return false;
    }
}

bool before_call(void* drcontext, int number) {
    ThreadRecorder* recorder = self();
    auto* pending = static_cast<PendingCall*>(drmgr_get_tls_field(drcontext, pending_index));
    if (recorder == nullptr || pending == nullptr || !of_interest(drcontext, number)) {
        return true;
    }
    for (int i = 0; i < 4; ++i) {
        pending->arguments[i] = dr_syscall_get_param(drcontext, i);
    }
    const uint64_t* argument = pending->arguments;
    switch (number) {
        case SYS_mmap:
            pending->stack_id = inside_allocator() ? 0 : stack_here(drcontext, *recorder);
            if ((argument[3] & MAP_FIXED) != 0) {
                leave_range(shard, *recorder, argument[0], argument[1]);
            }
            break;
        case SYS_munmap:
            leave_range(shard, *recorder, argument[0], argument[1]);
            break;
        case SYS_mremap:
            pending->stack_id = inside_allocator() ? 0 : stack_here(drcontext, *recorder);
            leave_range(shard, *recorder, argument[0], argument[1]);
            break;
        case SYS_brk: {
            const uint64_t current = program_break.load();
            if (argument[0] != 0 && current != 0 && page_ceiling(argument[0]) < current) {
                leave_range(shard, *recorder, page_ceiling(argument[0]),
                            current - page_ceiling(argument[0]));
            }
            break;
        }
        case SYS_madvise:
            // Allocators give memory back so, and keep the addresses.
            if (argument[2] == MADV_DONTNEED || argument[2] == MADV_REMOVE) {
                leave_pages(shard, *recorder, page_floor(argument[0]),
                            page_ceiling(argument[0] + argument[1]), os::ticks());
            }
            break;
        case SYS_execve:
            shard.set_flag(kShardReplaced);
            break;
        case SYS_close_range: {
            // closefrom() asks for all up to 2^32, and DynamoRIO looks at each one.
            rlimit limit{};
            os::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, reinterpret_cast<long>(&limit));
            if (argument[1] > limit.rlim_max) {
                dr_syscall_set_param(drcontext, 1, limit.rlim_max);
            }
            break;
        }
        default:
            break;
    }
    return true;
}

void new_mapping(ThreadRecorder& recorder, const PendingCall& pending, uint64_t start,
                 uint64_t bytes, const char* path, bool shared) {
    const bool by_allocator = inside_allocator();
    const int flags = (by_allocator ? kMapByAllocator : 0) | (shared ? kMapShared : 0);
    write_map(shard, recorder, os::ticks(), start, bytes, pending.stack_id, path,
              static_cast<uint8_t>(flags));
    if (by_allocator) {
        allocator_mapped(start, bytes);
    }
}

void after_call(void* drcontext, int number) {
    ThreadRecorder* recorder = self();
    auto* pending = static_cast<PendingCall*>(drmgr_get_tls_field(drcontext, pending_index));
    const auto result = static_cast<int64_t>(dr_syscall_get_result(drcontext));
    if (recorder == nullptr || pending == nullptr || (result < 0 && result > -4096)) {
        return;
    }
    const auto value = static_cast<uint64_t>(result);
    switch (number) {
        case SYS_mmap: {
            char path[1024] = "";
            const auto file = static_cast<int>(dr_syscall_get_param(drcontext, 4));
            if ((pending->arguments[3] & MAP_ANONYMOUS) == 0 && file >= 0) {
                path_of_file(file, path);
            }
            new_mapping(*recorder, *pending, value, page_ceiling(pending->arguments[1]), path,
                        (pending->arguments[3] & MAP_TYPE) != MAP_PRIVATE);
            break;
        }
        case SYS_mremap:
            new_mapping(*recorder, *pending, value, page_ceiling(pending->arguments[2]), "", false);
            break;
        case SYS_brk: {
            const uint64_t end = page_ceiling(value);
            const uint64_t before = program_break.exchange(end);
            if (before != 0 && end > before) {
                write_map(shard, *recorder, os::ticks(), before, end - before, 0, "[heap]",
                          kMapHeap);
            }
            break;
        }
        case SYS_read:
        case SYS_pread64:
        case SYS_recvfrom:
            if (value != 0) {
                touch_range(*recorder, pending->arguments[1], value, 0);
            }
            break;
        default:
            break;
    }
}

// Start of the lowest PT_LOAD segment as the file has it, page aligned; the header is mapped.
uint64_t lowest_address(const module_data_t* module) {
    Elf64_Ehdr header;
    size_t got = 0;
    if (!dr_safe_read(module->start, sizeof header, &header, &got) ||
        header.e_phentsize != sizeof(Elf64_Phdr)) {
        return 0;
    }
    uint64_t lowest = ~uint64_t{0};
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        if (!dr_safe_read(module->start + header.e_phoff + i * sizeof segment, sizeof segment,
                          &segment, &got)) {
            return 0;
        }
        if (segment.p_type == PT_LOAD && segment.p_vaddr < lowest) {
            lowest = segment.p_vaddr;
        }
    }
    return lowest == ~uint64_t{0} ? 0 : page_floor(lowest);
}

void mark_code(const module_data_t* module, bool present) {
    for (unsigned i = 0; i < module->num_segments; ++i) {
        if ((module->segments[i].prot & DR_MEMPROT_EXEC) != 0) {
            call_stacks.add_code(reinterpret_cast<uint64_t>(module->segments[i].start),
                                 reinterpret_cast<uint64_t>(module->segments[i].end), present);
        }
    }
}

void write_module(ThreadRecorder& recorder, const module_data_t* module, RecordType type,
                  uint64_t time) {
    const auto start = reinterpret_cast<uint64_t>(module->start);
    write_module(shard, recorder, type, time, module->full_path, start,
                 reinterpret_cast<uint64_t>(module->end), start - lowest_address(module));
}

void module_loaded(void*, const module_data_t* module, bool) {
    mark_code(module, true);
    ThreadRecorder* recorder = self();
    if (recorder != nullptr) {
        write_module(*recorder, module, RecordType::kModuleLoad, os::ticks());
    }
    hooks_module_loaded(module);
}

void module_unloaded(void*, const module_data_t* module) {
    mark_code(module, false);
    ThreadRecorder* recorder = self();
    if (recorder == nullptr) {
        return;
    }
    const auto start = reinterpret_cast<uint64_t>(module->start);
    const auto end = reinterpret_cast<uint64_t>(module->end);
    const uint64_t time = os::ticks();
    shard.retire(*recorder, window_page(start), window_page(end - 1) + 1, time);
    write_module(*recorder, module, RecordType::kModuleUnload, time + 1);
}

void thread_started(void* drcontext) {
    auto* pending = static_cast<PendingCall*>(dr_thread_alloc(drcontext, sizeof(PendingCall)));
    *pending = {};
    drmgr_set_tls_field(drcontext, pending_index, pending);
}

void thread_ended(void* drcontext) {
    dr_thread_free(drcontext, drmgr_get_tls_field(drcontext, pending_index), sizeof(PendingCall));
    drmgr_set_tls_field(drcontext, pending_index, nullptr);
}

struct WriteContext {
    ThreadRecorder* recorder;
    uint64_t time;
};

}  // namespace

CallStackLog call_stacks(shard);

uint64_t call_stack(ThreadRecorder& recorder, const ProgramRegisters& registers, uint64_t pc,
                    uint64_t stack_pointer) {
    return call_stacks.identify(recorder, registers, pc, stack_pointer, region_return_stub(),
                                region_return_address());
}

void mappings_init() {
    pending_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
    dr_register_filter_syscall_event(of_interest);
    drmgr_register_pre_syscall_event(before_call);
    drmgr_register_post_syscall_event(after_call);
    drmgr_register_module_load_event(module_loaded);
    drmgr_register_module_unload_event(module_unloaded);
    program_break.store(page_ceiling(static_cast<uint64_t>(os::call(SYS_brk, 0))));
}

void write_mappings(ThreadRecorder& recorder, uint64_t time) {
    WriteContext context{&recorder, time};
    each_mapping(
        [](const MappedRange& range, void* argument) {
            auto* to = static_cast<WriteContext*>(argument);
            write_map_before(shard, *to->recorder, to->time, range);
        },
        &context);
}

void write_modules(ThreadRecorder& recorder, uint64_t time) {
    dr_module_iterator_t* modules = dr_module_iterator_start();
    while (dr_module_iterator_hasnext(modules)) {
        module_data_t* module = dr_module_iterator_next(modules);
        write_module(recorder, module, RecordType::kModuleLoad, time);
        dr_free_module_data(module);
    }
    dr_module_iterator_stop(modules);
}

void write_placement(ThreadRecorder& recorder, uint64_t time) {
    WriteContext context{&recorder, time};
    each_mapping(
        [](const MappedRange& range, void* argument) {
            auto* to = static_cast<WriteContext*>(argument);
            write_placement_of(shard, *to->recorder, to->time, range);
        },
        &context);
}

}  // namespace numascape
