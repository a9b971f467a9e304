// SPDX-License-Identifier: Apache-2.0
//
// The address space of the program: its modules, its mappings, and the nodes of its pages.
#include <elf.h>

#include "bursts.h"
#include "dr_api.h"
#include "drmgr.h"
#include "os.h"
#include "phases.h"
#include "recorder.h"

namespace numascape {
namespace {

// The start of the lowest PT_LOAD segment in the file, page aligned. It is read from the header,
// which is mapped.
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
    const auto start = reinterpret_cast<uint64_t>(module->start);
    if (present) {
        call_stacks.add_module(start, reinterpret_cast<uint64_t>(module->end));
    } else {
        call_stacks.remove_module(start);
    }
    for (unsigned i = 0; i < module->num_segments; ++i) {
        if ((module->segments[i].prot & DR_MEMPROT_EXEC) != 0) {
            call_stacks.code().add_code(reinterpret_cast<uint64_t>(module->segments[i].start),
                                        reinterpret_cast<uint64_t>(module->segments[i].end),
                                        present);
        }
    }
}

void write_module(ThreadRecorder& recorder, const module_data_t* module, RecordType type,
                  uint64_t time) {
    const auto start = reinterpret_cast<uint64_t>(module->start);
    write_module(shard, recorder, type, time,
                 {module->full_path, start, reinterpret_cast<uint64_t>(module->end),
                  start - lowest_address(module)});
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
    hooks_module_unloaded(module);
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

// All return addresses of the calling thread that the recorder replaced.
class OwnReturns {
  public:
    OwnReturns() : count_(1 + hijacked_returns(words_ + 1)) {
        words_[0] = {region_return_stub(), region_return_address(), 0};
    }
    HijackedWords words() const { return {words_, count_}; }

  private:
    HijackedWord words_[1 + kMaxHijackedReturns];
    uint32_t count_;
};

struct WriteContext {
    ThreadRecorder* recorder;
    uint64_t time;
};

}  // namespace

CallStackLog call_stacks(shard);
TouchCallers touch_callers(shard, call_stacks.code());

uint64_t call_stack(ThreadRecorder& recorder, const ProgramRegisters& registers, uint64_t pc,
                    uint64_t stack_pointer, uint64_t bytes) {
    const OwnReturns hijacked;
    return call_stacks.identify(recorder, registers, pc, stack_pointer, bytes, hijacked.words());
}

// If only bursts are counted, page faults show the first touches.
uint64_t callers_of_code(ThreadRecorder& recorder, const void* frame) {
    if (bursts()) {
        return 0;
    }
    const OwnReturns hijacked;
    return touch_callers.of_code(recorder, *static_cast<const CallFrame*>(frame), hijacked.words());
}

uint64_t callers_of_kernel(ThreadRecorder& recorder, const CallFrame& frame) {
    if (bursts()) {
        return 0;
    }
    const OwnReturns hijacked;
    return touch_callers.of_call(recorder, frame, hijacked.words());
}

void mappings_init() {
    drmgr_register_module_load_event(module_loaded);
    drmgr_register_module_unload_event(module_unloaded);
}

void write_mappings(ThreadRecorder& recorder, uint64_t time) {
    WriteContext context{&recorder, time};
    each_mapping(
        [](const MappedRange& range, void* argument) {
            auto* to = static_cast<WriteContext*>(argument);
            memory.was_mapped(range);
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
