// SPDX-License-Identifier: Apache-2.0
//
// The functions that compiled code calls through its stub. Vector registers belong to the program:
// this code is compiled without them, and code that calls the C library saves them first.
#include "os.h"
#include "private_memory.h"
#include "range_counter.h"
#include "runtime.h"

// A function that own_stack.S calls.
#define CALLED extern "C" __attribute__((visibility("hidden")))

namespace numascape {
namespace {

SpinLock modules_lock;
uint32_t used_sites = 0;
std::atomic<uint8_t>* described = nullptr;  // by block number: whether the shard describes it
bool sites_lost = false;
std::atomic<PageCounter*> spare_table{nullptr};  // for threads without a table; its counts are lost

// The loaded compiled modules, whose thread-local words must be removed when they are unloaded.
struct Known {
    const CompiledModule* module;
    int64_t word;  // distance of its ModuleThread from the thread pointer
};
constexpr uint32_t kMaxKnown = 4096;
Known known_modules[kMaxKnown];
uint32_t known_count = 0;

constexpr uint64_t kNeverAgain = uint64_t{1} << 62;  // executions until the next sample

// Numbers grow towards lower addresses, see block_counters.h.
uint32_t number_of(const Site* site, const CompiledModule& module) {
    const uint64_t place = *module.offset + reinterpret_cast<uint64_t>(site);
    return static_cast<uint32_t>((0 - place) / sizeof(Site)) - 1;
}

// The number of a site in the shard. It is not its address, because a site of another library may
// later have the same address.
uint64_t key_of(const Site* site, const CompiledModule& module) {
    return kPlaceKey | number_of(site, module);
}

void number_sites(CompiledModule& module) {
    SpinGuard guard(modules_lock);
    if (module.known != 0) {
        return;
    }
    if (known_count < kMaxKnown) {
        known_modules[known_count++] = {&module, reinterpret_cast<int64_t>(module.thread()) -
                                                     static_cast<int64_t>(os::thread_pointer())};
    }
    if (described == nullptr) {
        described = map_private<std::atomic<uint8_t>>(kCounters);
    }
    auto count = static_cast<uint64_t>(module.sites_end - module.sites);
    if (used_sites + count > kCounters) {
        sites_lost = true;
        shard.set_flag(kShardBlocksLost);
        used_sites = 0;
        count = count < kCounters ? count : kCounters;
    }
    used_sites += static_cast<uint32_t>(count);
    // Numbers grow towards lower addresses, so the last entry gets the lowest number.
    const uint64_t lowest = used_sites - count;
    *module.offset = 0 - reinterpret_cast<uint64_t>(module.sites) - (lowest + count) * sizeof(Site);
    std::atomic_ref<uint32_t>(module.known).store(1, std::memory_order_release);
}

// Writes the place of an access in the source.
void write_place(ThreadRecorder& recorder, const Site* site, uint64_t key) {
    const char* names = reinterpret_cast<const char*>(site) + site->names;
    auto* record = append_with_text<PlaceRecord>(shard, recorder, RecordType::kPlace, names);
    record->pc = key;
    record->line = site->line;
    record->reserved = 0;
    shard.commit(recorder, record);
}

void describe(ThreadRecorder& recorder, const Site* site, const CompiledModule& module) {
    const uint32_t number = number_of(site, module);
    if (described[number].load(std::memory_order_relaxed) != 0 ||
        described[number].exchange(1) != 0 || sites_lost) {
        return;
    }
    constexpr uint32_t kMaxAccessesTogether = 1 << kPlaceBits;
    BlockAccess access[kMaxAccessesTogether];
    uint32_t accesses = 0;
    for (uint32_t i = 0; i < site->entries && i < kMaxAccessesTogether; ++i) {
        const uint64_t key = key_of(site + i, module);
        write_place(recorder, site + i, key);
        access[accesses++] = {key, static_cast<uint16_t>(i), site[i].reads, site[i].writes, 0};
    }
    shard.write_block(recorder, number, 0, access, accesses);
}

ThreadRecorder* counted_thread() {
    ThreadRecorder* recorder = thread_state.recorder;
    return recorder != nullptr && !options.faults &&
                   recorder->current.load(std::memory_order_relaxed) != nullptr
               ? recorder
               : nullptr;
}

extern "C" void numascape_saving_vectors(void (*function)(void*), void* argument);

void prepare_module(void* argument) {
    auto* module = static_cast<CompiledModule*>(argument);
    const ReentrancyGuard inside;
    ThreadRecorder* recorder = open_shard(true) ? begin_thread() : nullptr;
    number_sites(*module);
    if (recorder != nullptr) {
        write_new_modules(*recorder);
    }
}

void begin_this_thread(void*) {
    const ReentrancyGuard inside;
    begin_thread();
}

}  // namespace

CALLED void* numascape_enter(CompiledModule* module) {
    const Writing writing;
    ModuleThread* word = module->thread();
    if (writing.nested()) {
        // The recorder allocates while a thread begins, and the program may have its own malloc.
        // Functions that make calls read the word again.
        if (word->table == nullptr) {
            word->table = spare_counters();
            word->next = thread_state.waiting_words;
            thread_state.waiting_words = word;
        }
        return spare_counters();
    }
    if (std::atomic_ref<uint32_t>(module->known).load(std::memory_order_acquire) == 0) {
        numascape_saving_vectors(prepare_module, module);
    } else if (thread_state.recorder == nullptr && !thread_state.ended) {
        numascape_saving_vectors(begin_this_thread, nullptr);
    }
    let_modules_ask_again();
    ThreadRecorder* recorder = counted_thread();
    if (recorder == nullptr) {
        word->table = spare_counters();
    } else {
        shard.publish_table(*recorder, *word);
    }
    return const_cast<void*>(word->table);
}

CALLED void numascape_touch(void* table, uint64_t counter_offset, uint64_t place, const void* pc) {
    ThreadRecorder* recorder = counted_thread();
    if (recorder == nullptr) {
        return;
    }
    const Writing writing;
    const auto page = static_cast<uint32_t>(counter_offset / sizeof(PageCounter));
    if (writing.nested()) {
        shard.use_page_counters(*recorder, static_cast<const PageCounter*>(table), page);
        return;
    }
    const CompiledCall call{
        __builtin_frame_address(0), 4, {word_of(pc), place, word_of(table), counter_offset}};
    if (table == recorder->sampling.table) {
        const uint32_t block = recorder->sampling.block;
        const auto first = static_cast<uint32_t>(place & ((1 << kPlacesShift) - 1));
        const auto last = first + static_cast<uint32_t>(place >> kPlacesShift);
        for (uint32_t each = first; each <= last; ++each) {
            shard.count_sample(*recorder, page, call.code(), block << kPlaceBits | each, {});
        }
    } else {
        shard.touch(*recorder, static_cast<const PageCounter*>(table), page, call.code());
    }
}

namespace {

// The block's counter reached zero. Returns whether this execution is sampled.
bool begin_sample(ThreadRecorder* recorder, PageCounter* page_counters, const Site* site,
                  const CompiledModule& module) {
    const uint32_t number = number_of(site, module);
    if (recorder == nullptr || !options.source_lines || page_counters == recorder->sampling.table) {
        counter_at<BlockCounter>(page_counters, number).left = kNeverAgain;
        return false;
    }
    describe(*recorder, site, module);
    return shard.begin_sample(*recorder, page_counters, number);
}

}  // namespace

CALLED void* numascape_block(void* table, const Site* site, CompiledModule* module) {
    const Writing writing;
    auto* page_counters = static_cast<PageCounter*>(table);
    ThreadRecorder* recorder = writing.nested() ? nullptr : counted_thread();
    const bool sampled = begin_sample(recorder, page_counters, site, *module);
    return sampled ? recorder->sampling.table : page_counters;
}

CALLED void numascape_note(void* table, const Site* site, uint64_t address,
                           CompiledModule* module) {
    const Writing writing;
    ThreadRecorder* recorder = writing.nested() ? nullptr : counted_thread();
    if (begin_sample(recorder, static_cast<PageCounter*>(table), site, *module)) {
        shard.note_sample(*recorder, number_of(site, *module) << kPlaceBits, window_page(address),
                          seen_at(address), recorder->sampling.weight, false);
    }
}

namespace {

// --- Ranges: the accesses of whole loops.

// The owner of the memory is always recorded for large ranges.
void note_range(ThreadRecorder& recorder, const CountTable& table, const Site* site,
                const CompiledModule& module, const NestCounts& nest, uint64_t start) {
    const uint32_t places = site->entries;
    const uint64_t dimensions = nest.dimensions - (places > 1 ? 1 : 0);
    const uint64_t distance =
        places > 1 ? static_cast<uint64_t>(nest.dimension[dimensions].step) : 0;
    uint64_t executions = 1;
    uint64_t middle = start;
    for (uint64_t i = 0; i < dimensions; ++i) {
        const NestDimension& dimension = nest.dimension[i];
        executions *= dimension.count;
        middle += dimension.count / 2 * static_cast<uint64_t>(dimension.step);
    }
    const uint32_t number = number_of(site, module);
    auto& counter = shard.counter<BlockCounter>(table, number);
    const bool ran_out = counter.left < executions;
    counter.left -= executions;
    const bool sampled = ran_out && begin_sample(&recorder, table.page_counters, site, module);
    const bool always = ShardWriter::always_noted(recorder, executions);
    if (!always && !sampled) {
        return;
    }
    describe(recorder, site, module);
    for (uint32_t place = 0; place < places; ++place) {
        const uint64_t address = middle + place * distance;
        shard.note_sample(recorder, number << kPlaceBits | place, window_page(address),
                          seen_at(address), always ? executions : recorder.sampling.weight, always);
    }
}

}  // namespace

CALLED void numascape_range(const NestCounts* nest, uint64_t start, const Site* site,
                            const void* pc, CompiledModule* module) {
    Run run;
    if (!normalise(*nest, start, run)) {
        return;
    }
    const Writing writing;
    if (module->thread()->table == nullptr) {
        numascape_enter(module);
    }
    ThreadRecorder* recorder = counted_thread();
    if (recorder == nullptr) {
        return;
    }
    const CountTable& table = *recorder->current.load(std::memory_order_relaxed);
    const auto count = [&](const auto& counter) { counter.all(run, site); };
    const uint64_t reads = run.times * site->reads;
    const uint64_t writes = run.times * site->writes;
    const CompiledCall call{__builtin_frame_address(0), 0, {word_of(pc)}};
    const AccessingCode code = call.code();
    if (writes == 0) {
        count(RangeCounter<true, false>{*recorder, table.page_counters, reads, writes, code,
                                        writing.nested()});
    } else if (reads == 0) {
        count(RangeCounter<false, true>{*recorder, table.page_counters, reads, writes, code,
                                        writing.nested()});
    } else {
        count(RangeCounter<true, true>{*recorder, table.page_counters, reads, writes, code,
                                       writing.nested()});
    }
    if (options.source_lines && !sites_lost && !writing.nested()) {
        note_range(*recorder, table, site, *module, *nest, start);
    }
}

// --- Phases

static std::atomic<uint32_t> threads_in_regions{0};

CALLED void numascape_mark(const char* name, const void* pc) {
    const Writing writing;
    ThreadRecorder* recorder = thread_state.recorder;
    if (options.marks && recorder != nullptr && !writing.nested() && shard.makes_calls()) {
        phases.mark_reached(*recorder, reinterpret_cast<uint64_t>(pc) - 1,
                            reinterpret_cast<uint64_t>(name));
    }
}

// If regions are nested, or if several threads begin regions at the same time, the first one is the
// phase until all have ended.
CALLED void numascape_region(const void* function, const void* pc) {
    const Writing writing;
    ThreadRecorder* recorder = thread_state.recorder;
    if (!options.regions || recorder == nullptr || writing.nested() || !shard.makes_calls()) {
        return;
    }
    if (function != nullptr) {
        if (thread_state.regions++ == 0 && threads_in_regions.fetch_add(1) == 0) {
            phases.region_began(*recorder, reinterpret_cast<uint64_t>(function),
                                reinterpret_cast<uint64_t>(pc));
        }
    } else if (thread_state.regions > 0 && --thread_state.regions == 0 &&
               threads_in_regions.fetch_sub(1) == 1) {
        phases.region_ended(*recorder);
    }
}

CALLED void numascape_memory_region(const char* name, uint64_t address, uint64_t bytes,
                                    const void* pc) {
    const Writing writing;
    if (writing.nested() || !shard.makes_calls() || !recording()) {
        return;
    }
    // A program may name memory before it accesses any.
    if (thread_state.recorder == nullptr && !thread_state.ended) {
        numascape_saving_vectors(begin_this_thread, nullptr);
    }
    if (ThreadRecorder* recorder = thread_state.recorder) {
        memory_regions.told(*recorder, reinterpret_cast<uint64_t>(pc) - 1,
                            reinterpret_cast<uint64_t>(name), address, bytes);
    }
}

void* spare_counters() {
    PageCounter* known = spare_table.load();
    if (known == nullptr) {
        void* memory = os::map_sparse(kTableStride);
        if (spare_table.compare_exchange_strong(known, table_in(memory))) {
            known = table_in(memory);
        } else {
            os::unmap(memory, kTableStride);
        }
    }
    return known;
}

void stop_counting() {
    for (TableWord* word = thread_state.recorder->table_words; word != nullptr; word = word->next) {
        word->table = spare_counters();
    }
    thread_state.recorder = nullptr;
    thread_state.ended = true;
}

void counting_before_fork() {
    modules_lock.lock();
}

void counting_after_fork(bool child) {
    modules_lock.unlock();
    if (!child) {
        return;
    }
    threads_in_regions.store(thread_state.regions > 0 ? 1 : 0);
    for (uint32_t number = 0; described != nullptr && number < used_sites; ++number) {
        described[number].store(0, std::memory_order_relaxed);
    }
}

void forget_compiled_modules(uint64_t start, uint64_t end) {
    SpinGuard guard(modules_lock);
    for (uint32_t i = 0; i < known_count;) {
        const auto at = reinterpret_cast<uint64_t>(known_modules[i].module);
        if (at < start || at >= end) {
            ++i;
            continue;
        }
        shard.withdraw_table(known_modules[i].word);
        known_modules[i] = known_modules[--known_count];
    }
}

}  // namespace numascape

// The functions above, on the thread's own stack (own_stack.S).
#define ON_OWN_STACK(function) CALLED decltype(numascape::function) function##_on_own_stack
ON_OWN_STACK(numascape_enter);
ON_OWN_STACK(numascape_touch);
ON_OWN_STACK(numascape_block);
ON_OWN_STACK(numascape_range);
ON_OWN_STACK(numascape_note);
ON_OWN_STACK(numascape_mark);
ON_OWN_STACK(numascape_region);
ON_OWN_STACK(numascape_memory_region);

NUMASCAPE_EXPORTED const numascape::CompiledRuntime numascape_compiled_runtime = {
    numascape::kCompiledVersion,         numascape_enter_on_own_stack,
    numascape_touch_on_own_stack,        numascape_block_on_own_stack,
    numascape_range_on_own_stack,        numascape_note_on_own_stack,
    numascape_mark_on_own_stack,         numascape_region_on_own_stack,
    numascape_memory_region_on_own_stack};
