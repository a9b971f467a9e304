// SPDX-License-Identifier: Apache-2.0
//
// The slow path of the inlined counting: what the generated code (slow_path_code.h) calls. It is
// compiled for general-purpose registers only (-mgeneral-regs-only), so that vector registers need
// not be saved.
#include "block_heads.h"
#include "burst_cost.h"
#include "dr_api.h"
#include "group_sums.h"
#include "os.h"
#include "phases.h"
#include "place_code.h"
#include "recorder.h"
#include "sampled_groups.h"
#include "saved_state.h"
#include "slow_path_code.h"
#include "special_accesses.h"
#include "traffic.h"

// Patch 17 of DynamoRIO; a DynamoRIO without it has no such function.
extern "C" __attribute__((weak)) void dr_register_cache_return(byte* (*)(byte* pc, byte* xsp));

namespace numascape {

SlowPaths slow_paths;

namespace {

constexpr uint64_t kLow32 = 0xffffffff;
// Bytes per access of an instruction that copies or fills byte by byte, as in the compiled
// recorder.
constexpr uint64_t kCopiedBytes = 8;

bool is_sampled(const ThreadRecorder& recorder, uint64_t table) {
    return reinterpret_cast<const PageCounter*>(table) == recorder.sampling.table;
}

void touch(ThreadRecorder& recorder, uint64_t offset, const PlaceCode& place, uint32_t site,
           uint64_t table, const SeenParts& seen) {
    const auto page = static_cast<uint32_t>(offset >> 4);
    const auto* page_counters = reinterpret_cast<const PageCounter*>(table);
    if (recorder.current.load(std::memory_order_relaxed) == nullptr) {
        return;
    }
    if (is_sampled(recorder, table)) {
        count_sample(recorder, page, place.code(), site, seen);
    } else {
        shard.touch(recorder, page_counters, page, place.code());
    }
}

void touch_counter(uint64_t offset, const void* info, ThreadRecorder* recorder, const void* saved,
                   uint64_t table, const void*) {
    const auto& group = *static_cast<const GroupInfo*>(info);
    SeenParts seen;
    if (is_sampled(*recorder, table)) {
        seen =
            seen_in(group, *static_cast<const ProgramRegisters*>(saved), recorder->thread_pointer);
    }
    touch(*recorder, offset, {group.place, saved}, group.place.site, table, seen);
}

void touch_masked(uint64_t offset, const void* info, ThreadRecorder* recorder, const void* saved,
                  uint64_t table, const void*) {
    const auto* shape = static_cast<const MaskedShape*>(info);
    const PlaceInfo& place = shape->place.info;
    touch(*recorder, offset, {place, saved},
          place.site + (shape->write && place.site != kNoSite ? 1 : 0), table, {});
}

// An access to both pages of a group counts on both.
void count_group(uint64_t low, const void* info, ThreadRecorder* recorder, const void* saved,
                 uint64_t, const void*) {
    const auto* group = static_cast<const GroupInfo*>(info);
    const PlaceCode place(group->place, saved);
    const uint64_t boundary = kPageBytes - low % kPageBytes;
    const PageSums sums = page_sums(*group, boundary);
    for (unsigned page = 0; page < 2; ++page) {
        if (sums.reads[page] + sums.writes[page] != 0) {
            shard.count(*recorder, low + page * boundary, 1, sums.reads[page], sums.writes[page],
                        place.code_at(group->access[sums.first[page]].pc));
        }
    }
    if (recorder->cache != nullptr) {
        for (unsigned i = 0; i < group->accesses; ++i) {
            const GroupAccess& access = group->access[i];
            touch_lines(*recorder, low + access.offset, access.bytes, access.write, access.pc);
        }
    }
    if (recorder->sampling.weight != 0) {
        note_special(*recorder, group->place.site >> kPlaceBits, group->place.site, low,
                     seen_in(*group, low), 1);
    }
}

// A special instruction made this many accesses at `address`.
void count_special(ThreadRecorder& recorder, const SpecialPlace& place, uint64_t address,
                   uint64_t reads, uint64_t writes) {
    const CountTable* table = recorder.current.load(std::memory_order_relaxed);
    if (place.block == kNoBlock || table == nullptr) {
        return;
    }
    if (place.own_counter != 0) {
        auto& own = shard.counter<OwnCounter>(*table, place.block + place.own_counter);
        own.reads += reads;
        own.writes += writes;
    }
    const SeenParts seen = seen_at(address);
    if (reads != 0) {
        note_special(recorder, place.block, place.info.site, address, seen, reads);
    }
    if (writes != 0) {
        note_special(recorder, place.block, place.info.site + 1, address, seen, writes);
    }
}

// A copy reads and writes lines in turn.
void touch_copied(ThreadRecorder& recorder, uint64_t from, uint64_t to, uint64_t bytes,
                  const RepeatedString& string) {
    if (!traffic()) {
        return;
    }
    for (uint64_t at = 0; at < bytes; at += line_bytes()) {
        const uint64_t piece = bytes - at < line_bytes() ? bytes - at : line_bytes();
        if (string.reads) {
            touch_lines(recorder, from + at, piece, false, string.place.info.pc);
        }
        if (string.writes) {
            touch_lines(recorder, to + at, piece, true, string.place.info.pc);
        }
    }
}

// Counts `bytes` from `first` upwards, in elements. Each page gets the number of elements that
// touch it.
void count_elements(ThreadRecorder& recorder, uint64_t first, uint64_t bytes, uint64_t element,
                    bool write, const AccessingCode& code) {
    const uint64_t end = first + bytes;
    for (uint64_t page = first & ~(kPageBytes - 1); page < end; page += kPageBytes) {
        const uint64_t low = page > first ? page : first;
        const uint64_t high = page + kPageBytes < end ? page + kPageBytes : end;
        const uint64_t elements = (high - 1 - first) / element - (low - first) / element + 1;
        shard.count(recorder, low, 1, write ? 0 : elements, write ? elements : 0, code);
    }
}

// The program's registers that a repeated string instruction uses.
struct StringRegisters {
    uint64_t rcx, rsi, rdi;
    bool backward;
};

// `after`: the registers after the instruction has run, or when it faulted.
void count_string(ThreadRecorder& recorder, const RepeatedString& string, StringRegisters after,
                  const AccessingCode& code) {
    auto count = reinterpret_cast<uint64_t>(read_thread_slot(ThreadSlot::kRepeats)) - after.rcx;
    write_thread_slot(ThreadSlot::kRepeats, nullptr);
    if (string.narrow) {
        count &= kLow32;
        after.rsi &= kLow32;
        after.rdi &= kLow32;
    }
    if (count == 0) {
        return;
    }
    const uint64_t bytes = count * string.bytes;
    const uint64_t from = after.rsi + (after.backward ? string.bytes : -bytes);
    const uint64_t to = after.rdi + (after.backward ? string.bytes : -bytes);
    touch_copied(recorder, from, to, bytes, string);
    // The C library copies and fills memory of any type with single bytes.
    const uint64_t element = string.bytes == 1 ? kCopiedBytes : string.bytes;
    const uint64_t accesses = (bytes + element - 1) / element;
    // The middle of a copy determines its structures, because other structures may share the pages
    // of its ends.
    const uint64_t middle = count / 2 * string.bytes;
    if (string.reads) {
        count_special(recorder, string.place, from + middle, accesses, 0);
        count_elements(recorder, from, bytes, element, false, code);
    }
    if (string.writes) {
        count_special(recorder, string.place, to + middle, 0, accesses);
        count_elements(recorder, to, bytes, element, true, code);
    }
}

void count_repeated_string(uint64_t, const void* info, ThreadRecorder* recorder, const void* saved,
                           uint64_t, const void*) {
    const auto* registers = static_cast<const ProgramRegisters*>(saved);
    const auto* string = static_cast<const RepeatedString*>(info);
    const PlaceCode place(string->place.info, saved);
    count_string(
        *recorder, *string,
        {registers->rcx, registers->rsi, registers->rdi, (registers->flags & kDirectionFlag) != 0},
        place.code());
}

// Counts each page once, even if several components are on it.
void count_saved_state(uint64_t area, const void* info, ThreadRecorder* recorder, const void* saved,
                       uint64_t asked, const void*) {
    const auto* state = static_cast<const SavedState*>(info);
    const PlaceCode place(state->place.info, saved);
    StateExtent extents[kMaxStateExtents];
    const uint32_t found = state_extents(
        area, asked, state->compacted || (!state->write && is_compacted(area)), extents);
    const uint64_t reads = state->write ? 0 : 1;
    uint64_t counted = 0;  // a bit for each page, from the first one of the area on
    for (uint32_t i = 0; i < found; ++i) {
        touch_lines(*recorder, extents[i].start, extents[i].bytes, state->write,
                    state->place.info.pc);
        const uint64_t last = (extents[i].start + extents[i].bytes - 1) >> kPageShift;
        for (uint64_t page = extents[i].start >> kPageShift; page <= last; ++page) {
            const uint64_t bit = uint64_t{1} << ((page - (area >> kPageShift)) & 63);
            if ((counted & bit) == 0) {
                counted |= bit;
                shard.count(*recorder, page << kPageShift, 1, reads, 1 - reads, place.code());
            }
        }
    }
    count_special(*recorder, state->place, area, reads, 1 - reads);
}

void count_bit_test(uint64_t address, const void* info, ThreadRecorder* recorder, const void* saved,
                    uint64_t number, const void*) {
    const auto* test = static_cast<const BitTest*>(info);
    int64_t bit = static_cast<int64_t>(number);
    bit = test->bytes == 8
              ? bit
              : (test->bytes == 4 ? static_cast<int32_t>(bit) : static_cast<int16_t>(bit));
    const int64_t bits = int64_t{test->bytes} * 8;
    const int64_t operand = bit >= 0 ? bit / bits : -((bits - 1 - bit) / bits);
    address += static_cast<uint64_t>(operand * test->bytes);
    touch_lines(*recorder, address, test->bytes, test->write, test->place.info.pc);
    shard.count(*recorder, address, test->bytes, 1, test->write ? 1 : 0,
                PlaceCode(test->place.info, saved).code());
    count_special(*recorder, test->place, address, 1, test->write ? 1 : 0);
}

uint64_t lowest_lanes(uint64_t mask, uint32_t lanes) {
    return lanes < 64 ? mask & ((uint64_t{1} << lanes) - 1) : mask;
}

// Without -mpopcnt the compiler would call a library.
uint64_t lanes_in(uint64_t mask) {
    uint64_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        ++count;
    }
    return count;
}

void count_masked(uint64_t address, const void* info, ThreadRecorder* recorder, const void* saved,
                  uint64_t mask, const void*) {
    const auto* shape = static_cast<const MaskedShape*>(info);
    const PlaceCode place(shape->place.info, saved);
    const uint32_t element = shape->lanes.element_bytes;
    mask = lowest_lanes(mask, shape->lanes.lanes);
    if (mask == 0) {
        return;
    }
    const uint64_t reads = shape->write ? 0 : 1;
    count_special(*recorder, shape->place, address, reads, 1 - reads);
    const uint32_t elements = shape->lanes.bytes / element;
    if (shape->lanes.packed || elements == 1) {
        const uint64_t bytes = shape->lanes.packed ? lanes_in(mask) * element : element;
        touch_lines(*recorder, address, bytes, shape->write, shape->place.info.pc);
        shard.count(*recorder, address, bytes, reads, 1 - reads, place.code());
        return;
    }
    // Counts each page at most once, if a selected lane touches it. A vector is on two pages at
    // most.
    const uint64_t boundary = (address | (kPageBytes - 1)) + 1;
    bool low_page = false;
    bool high_page = false;
    for (; mask != 0; mask &= mask - 1) {
        const uint32_t at = static_cast<uint32_t>(__builtin_ctzll(mask)) % elements;
        const uint64_t lane = address + uint64_t{at} * element;
        touch_lines(*recorder, lane, element, shape->write, shape->place.info.pc);
        low_page |= lane < boundary;
        high_page |= lane + element > boundary;
    }
    if (low_page) {
        shard.count(*recorder, boundary - 1, 1, reads, 1 - reads, place.code());
    }
    if (high_page) {
        shard.count(*recorder, boundary, 1, reads, 1 - reads, place.code());
    }
}

void count_gathered(uint64_t base, const void* info, ThreadRecorder* recorder, const void* saved,
                    uint64_t mask, const void* vector) {
    const auto* shape = static_cast<const GatherShape*>(info);
    const PlaceCode place(shape->place.info, saved);
    const uint64_t reads = shape->write ? 0 : 1;
    for (mask = lowest_lanes(mask, shape->lanes); mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctzll(mask));
        const int64_t index = shape->index_bytes == 8 ? static_cast<const int64_t*>(vector)[lane]
                                                      : static_cast<const int32_t*>(vector)[lane];
        const uint64_t address = base + static_cast<uint64_t>(index) * shape->scale;
        touch_lines(*recorder, address, shape->element_bytes, shape->write, shape->place.info.pc);
        shard.count(*recorder, address, shape->element_bytes, reads, 1 - reads, place.code());
        count_special(*recorder, shape->place, address, reads, 1 - reads);
    }
}

void drain_misses(uint64_t, const void*, ThreadRecorder* recorder, const void*, uint64_t,
                  const void*) {
    shard.drain_misses(*recorder, true);
}

void line_moves(uint64_t low, const void* info, ThreadRecorder* recorder, const void*, uint64_t,
                const void*) {
    use_probed_line(*recorder, low, *static_cast<const LineProbe*>(info));
}

void call_function(uint64_t, const void* info, ThreadRecorder* recorder, const void* saved,
                   uint64_t, const void*) {
    const OwnWork own(recorder, OwnWork::kOfFunction);
    const auto& hook = *static_cast<const FunctionHook*>(info);
    const auto& registers = *static_cast<const ProgramRegisters*>(saved);
    if (is_region(hook.kind)) {
        region_called(hook, *recorder, registers, program_stack_pointer());
    } else {
        allocation_called(hook, *recorder, registers, program_stack_pointer());
    }
}

void return_from_region(uint64_t, const void*, ThreadRecorder* recorder, const void*, uint64_t,
                        const void*) {
    region_returned(*recorder, program_stack_pointer());
}

void return_from_allocation(uint64_t, const void*, ThreadRecorder* recorder, const void* saved,
                            uint64_t, const void*) {
    const OwnWork own(recorder, OwnWork::kOfFunction);
    allocation_returned(*recorder, static_cast<const ProgramRegisters*>(saved)->rax,
                        program_stack_pointer());
}

// The address in the code cache to which the calling thread, at `pc`, will return; null if it is
// not on a slow path. DynamoRIO calls this while it handles a signal, and makes the thread leave
// the cache at this address. Otherwise a program in a loop that never leaves the cache would not
// get the signal.
byte* cache_return(byte* pc, byte* stack_pointer) {
    const auto top = static_cast<byte*>(read_thread_slot(ThreadSlot::kOwnStack));
    const bool on_own_stack =
        top != nullptr && stack_pointer <= top && stack_pointer > top - kOwnStackBytes;
    return on_own_stack || is_slow_path_code(pc)
               ? static_cast<byte*>(read_thread_slot(ThreadSlot::kReturn))
               : nullptr;
}

}  // namespace

void count_faulted_string(const dr_mcontext_t& context) {
    ThreadRecorder* recorder = self();
    if (recorder == nullptr || read_thread_slot(ThreadSlot::kRepeats) == nullptr) {
        return;
    }
    const RepeatedString* string = repeated_string_at(reinterpret_cast<uint64_t>(context.pc));
    if (string != nullptr) {
        const PlaceCode place({string->place.info.pc, context.xsp, context.xbp});
        count_string(
            *recorder, *string,
            {context.xcx, context.xsi, context.xdi, (context.xflags & kDirectionFlag) != 0},
            place.code());
    }
}

void slow_paths_init(void* drcontext) {
    saved_state_init();
    SlowPathCode generated(drcontext);
    slow_paths.group = generated.code_with_all_registers(touch_counter, count_group);
    slow_paths.repeated_string = generated.code_with_all_registers(count_repeated_string);
    slow_paths.saved_state = generated.code_with_all_registers(count_saved_state);
    slow_paths.bit_test = generated.code_with_all_registers(count_bit_test);
    slow_paths.masked = generated.code_with_all_registers(touch_masked, count_masked);
    slow_paths.function_called = generated.code_with_all_registers(call_function);
    slow_paths.region_returned = generated.code_with_all_registers(return_from_region);
    slow_paths.allocation_returned = generated.code_with_all_registers(return_from_allocation);
    slow_paths.block_counter = generated.code(block_counter_ran_out, block_counter_ran_out);
    slow_paths.gathered = generated.code_with_all_registers(count_gathered);
    slow_paths.lines_wait = generated.code(drain_misses, drain_misses);
    slow_paths.line_moves = generated.code(line_moves, line_moves);
    if (dr_register_cache_return != nullptr) {
        dr_register_cache_return(cache_return);
    }
}

}  // namespace numascape
