// SPDX-License-Identifier: Apache-2.0
//
// The DynamoRIO client: options, life of the process and of its threads.
//
// Options: -directory DIR  where shards go     -no-stack  leave accesses relative to rsp out
//          -no-lines       do not find out which instructions touch what
//          -attached       the program was running before
//          -no-regions     parallel regions are no phases   -no-marks  nor are the program's marks
//          -every NS       time slices of so many nanoseconds are the phases
//          -tables N       use at most N tables of counters
//          -cache W S L    threads have caches of W ways and 2^S sets of 2^L bytes: lines of memory
//                          are counted, too
#include <string_view>

#include <signal.h>

#include "dr_api.h"
#include "drmgr.h"
#include "os.h"
#include "phases.h"
#include "process_end.h"
#include "recorder.h"
#include "release_thread.h"

namespace numascape {

Options options{{0}, true, true, false, true, true, 0, kMaxTables, {}};
ShardWriter shard;

bool detached = false;

namespace {

constexpr size_t kOwnStackBytes = 64 * 1024;

reg_id_t slot_segment = DR_REG_NULL;
uint slot_offset = 0;
char shard_name[64];
Slot* spare_table = nullptr;  // for threads beyond kMaxTables: counted into the void
int own_stack_index = -1;     // thread-local field; at detach, threads are ended by another one

// Opens DIR/PID-N.shard and .tables, N the first free number: after exec a process has a new one.
bool open_files(file_t& shard_file, file_t& tables_file) {
    char path[1200];
    for (int n = 0; n < 10000; ++n) {
        dr_snprintf(shard_name, sizeof shard_name, "%u-%d", os::process_id(), n);
        dr_snprintf(path, sizeof path, "%s/%s.shard", options.directory, shard_name);
        path[sizeof path - 1] = '\0';
        shard_file = dr_open_file(path, DR_FILE_READ | DR_FILE_WRITE_REQUIRE_NEW);
        if (shard_file != INVALID_FILE) {
            break;
        }
        if (!dr_file_exists(path)) {
            return false;
        }
    }
    dr_snprintf(path, sizeof path, "%s/%s.tables", options.directory, shard_name);
    tables_file = dr_open_file(path, DR_FILE_READ | DR_FILE_WRITE_REQUIRE_NEW);
    return shard_file != INVALID_FILE && tables_file != INVALID_FILE;
}

const char* program_path() {
    static char path[1024];
    const long length = os::call(SYS_readlink, reinterpret_cast<long>("/proc/self/exe"),
                                 reinterpret_cast<long>(path), sizeof path - 1);
    module_data_t* main = dr_get_main_module();
    if (main != nullptr) {
        dr_snprintf(path, sizeof path, "%s", main->full_path);
        dr_free_module_data(main);
    } else {
        path[length > 0 ? length : 0] = '\0';
    }
    path[sizeof path - 1] = '\0';
    return path;
}

// The mapping the thread's stack pointer is in.
StackRange find_stack(void* drcontext) {
    dr_mcontext_t context;
    context.size = sizeof context;
    context.flags = DR_MC_CONTROL;
    dr_get_mcontext(drcontext, &context);
    dr_mem_info_t info;
    if (!dr_query_memory_ex(reinterpret_cast<byte*>(context.xsp), &info) ||
        info.type == DR_MEMTYPE_FREE) {
        return {0, 0};
    }
    const auto start = reinterpret_cast<uint64_t>(info.base_pc);
    return {start, start + info.size};
}

void fill_slots(ThreadRecorder* recorder, void* own_stack) {
    if (recorder->current.load() != nullptr) {
        auto* slots = const_cast<const void**>(thread_slots());
        shard.publish_table(*recorder, slots + static_cast<unsigned>(ThreadSlot::kTable));
    } else {
        if (spare_table == nullptr) {
            spare_table = table_in(os::map_sparse(kTableStride));
        }
        write_thread_slot(ThreadSlot::kTable, spare_table);
    }
    write_thread_slot(ThreadSlot::kRecorder, recorder);
    if (recorder->cache != nullptr) {
        auto* slots = const_cast<const void**>(thread_slots());
        recorder->cache->publish_next(slots + static_cast<unsigned>(ThreadSlot::kWaiting));
        write_thread_slot(ThreadSlot::kFilter, recorder->cache->filter());
    }
    write_thread_slot(ThreadSlot::kVector, own_stack);
    write_thread_slot(ThreadSlot::kOwnStack, static_cast<char*>(own_stack) + kOwnStackBytes);
}

void thread_started(void* drcontext) {
    if (is_release_thread()) {
        return;
    }
    static std::atomic<bool> first{true};
    const bool main_thread = first.exchange(false);
    const StackRange stack = main_thread ? find_main_stack() : find_stack(drcontext);
    ThreadRecorder* recorder = shard.start_thread(stack.start, stack.end);
    void* own_stack = os::map_sparse(kOwnStackBytes);
    DR_ASSERT(recorder != nullptr && !os::failed(own_stack));
    drmgr_set_tls_field(drcontext, own_stack_index, own_stack);
    fill_slots(recorder, own_stack);
    if (main_thread) {
        write_mappings(*recorder, os::ticks());
    }
}

void thread_ended(void* drcontext) {
    void* own_stack = drmgr_get_tls_field(drcontext, own_stack_index);
    if (own_stack != nullptr) {
        os::unmap(own_stack, kOwnStackBytes);
        drmgr_set_tls_field(drcontext, own_stack_index, nullptr);
    }
    // After a fork, DynamoRIO ends in the child the threads that only its parent has.
    const bool other_thread = dr_get_current_drcontext() != drcontext;
    ThreadRecorder* recorder = detached || other_thread ? nullptr : self();
    if (recorder == nullptr) {
        return;
    }
    // A stack may be cached and given to the next thread: its counts leave with its owner.
    if (recorder->stack_end > recorder->stack_start &&
        recorder->stack_end - recorder->stack_start < kWindowMask / 2) {
        shard.retire(*recorder, window_page(recorder->stack_start),
                     window_page(recorder->stack_end - 1) + 1, os::ticks());
    }
    char name[16];
    read_thread_name(recorder->os_tid, name);
    write_thread_slot(ThreadSlot::kRecorder, nullptr);
    shard.end_thread(recorder, name);
}

void forked(void*) {
    ThreadRecorder* recorder = self();
    char parent[sizeof shard_name + 8];
    dr_snprintf(parent, sizeof parent, "%s", shard_name);
    file_t shard_file = INVALID_FILE;
    file_t tables_file = INVALID_FILE;
    if (recorder == nullptr) {
        return;
    }
    // A child with another root or user may not write there: it lives on, and its parent's shard
    // (still mapped here) tells.
    if (!open_files(shard_file, tables_file)) {
        shard.set_flag(kShardChildrenLost);
        shard_file = os::memory_file();
        tables_file = os::memory_file();
    }
    if (!shard.reopen_after_fork(*recorder, shard_file, tables_file, program_path(), parent)) {
        dr_fprintf(STDERR, "numascape: no memory to record the forked process %u\n",
                   os::process_id());
        dr_abort();
    }
    hooks_after_fork();
    allocations_after_fork();
    regions_after_fork();
    phases_after_fork();
    const uint64_t time = os::ticks();
    auto* record = static_cast<ThreadStartRecord*>(shard.append(
        *recorder, RecordType::kThreadStart, recorder->thread, sizeof(ThreadStartRecord)));
    record->time = time;
    record->stack_start = recorder->stack_start;
    record->stack_end = recorder->stack_end;
    record->os_tid = recorder->os_tid;
    record->cpu = os::current_cpu();
    shard.commit(*recorder, record);
    write_mappings(*recorder, time);
    write_modules(*recorder, time);
    write_live_blocks(*recorder, time);
}

dr_signal_action_t on_signal(void*, dr_siginfo_t* info) {
    if (info->sig == SIGBUS &&
        shard.survive_full_disk(reinterpret_cast<uint64_t>(info->access_address))) {
        return DR_SIGNAL_SUPPRESS;
    }
    return DR_SIGNAL_DELIVER;
}

// What is only known at the end, as records of `recorder`'s thread. Threads may still be counting:
// their tables stay as they are.
void finish_shard(ShardFlags flag, ThreadRecorder* recorder) {
    shard.settle_at_end(recorder);
    if (recorder != nullptr) {
        write_placement(*recorder, os::ticks());
        write_process_end(shard, *recorder);
    }
    shard.stamp();
    shard.set_flag(flag);
}

// DynamoRIO is about to stop all threads and to send them on without it.
void before_detach() {
    stop_clock();
    // On the release thread, which has no recorder: it gets one now, for these records only.
    ThreadRecorder* recorder = self();
    finish_shard(kShardDetached, recorder != nullptr ? recorder : shard.start_writer());
    regions_stop();
    allocations_stop();
    detached = true;
}

void process_ended() {
    stop_clock();
    if (detached) {
        phases_close();
        shard.close();
        end_release_thread();
    } else {
        finish_shard(kShardEnded, self());
    }
    instrument_exit();
    dr_raw_tls_cfree(slot_offset, static_cast<uint>(ThreadSlot::kCount));
    drmgr_exit();
}

uint64_t number_of(const char* text) {
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        number = number * 10 + static_cast<uint64_t>(*text - '0');
    }
    return number;
}

bool parse_options(int argc, const char* argv[]) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "-directory" && i + 1 < argc) {
            dr_snprintf(options.directory, sizeof options.directory, "%s", argv[++i]);
            options.directory[sizeof options.directory - 1] = '\0';
        } else if (option == "-no-stack") {
            options.count_stack = false;
        } else if (option == "-no-lines") {
            options.lines = false;
        } else if (option == "-attached") {
            options.attached = true;
        } else if (option == "-no-regions") {
            options.regions = false;
        } else if (option == "-no-marks") {
            options.marks = false;
        } else if (option == "-every" && i + 1 < argc) {
            options.every_ns = number_of(argv[++i]);
        } else if (option == "-tables" && i + 1 < argc) {
            options.most_tables = static_cast<uint32_t>(number_of(argv[++i]));
        } else if (option == "-cache" && i + 3 < argc) {
            options.cache.ways = static_cast<uint32_t>(number_of(argv[++i]));
            options.cache.set_bits = static_cast<uint32_t>(number_of(argv[++i]));
            options.cache.line_bits = static_cast<uint32_t>(number_of(argv[++i]));
            if (!modelled_shape(options.cache)) {
                dr_fprintf(STDERR, "numascape: the recorder cannot model such a cache\n");
                return false;
            }
        } else {
            dr_fprintf(STDERR, "numascape: the recorder does not know the option %s\n", argv[i]);
            return false;
        }
    }
    return options.directory[0] != '\0';
}

}  // namespace

opnd_t thread_slot(void* drcontext, ThreadSlot slot) {
    return dr_raw_tls_opnd(drcontext, slot_segment, slot_offset + static_cast<unsigned>(slot) * 8);
}

void load_thread_slot(void* drcontext, instrlist_t* block, instr_t* where, ThreadSlot slot,
                      reg_id_t into) {
    dr_insert_read_raw_tls(drcontext, block, where, slot_segment,
                           slot_offset + static_cast<unsigned>(slot) * 8, into);
}

// DynamoRIO keeps its thread-local storage behind gs; asking for the segment's base costs a system
// call.
void write_thread_slot(ThreadSlot slot, const void* value) {
    const uint64_t at = slot_offset + static_cast<unsigned>(slot) * 8;
    __asm__ volatile("movq %1, %%gs:(%0)" : : "r"(at), "r"(value) : "memory");
}

void* const* thread_slots() {
    return reinterpret_cast<void* const*>(static_cast<byte*>(dr_get_dr_segment_base(slot_segment)) +
                                          slot_offset);
}

void* read_thread_slot(ThreadSlot slot) {
    const uint64_t at = slot_offset + static_cast<unsigned>(slot) * 8;
    void* value = nullptr;
    __asm__ volatile("movq %%gs:(%1), %0" : "=r"(value) : "r"(at));
    return value;
}

ThreadRecorder* self() {
    return static_cast<ThreadRecorder*>(read_thread_slot(ThreadSlot::kRecorder));
}

void start(int argc, const char* argv[]) {
    dr_set_client_name("Numascape", "the project's issue tracker");
    file_t shard_file = INVALID_FILE;
    file_t tables_file = INVALID_FILE;
    if (!parse_options(argc, argv) || !open_files(shard_file, tables_file) ||
        !shard.open(shard_file, tables_file, program_path(), "",
                    options.attached ? uint32_t{kShardAttached} : 0)) {
        dr_fprintf(STDERR, "numascape: cannot write a shard into %s\n", options.directory);
        dr_abort();
    }
    if (options.cache.ways != 0) {
        shard.model_caches(options.cache);
    }
    drmgr_init();
    dr_raw_tls_calloc(&slot_segment, &slot_offset, static_cast<uint>(ThreadSlot::kCount), 0);
    DR_ASSERT_MSG(slot_segment == DR_SEG_GS, "thread-local storage is not behind gs");
    const bool opened = call_stacks.open();
    DR_ASSERT(opened);
    (void)opened;
    block_heads_init();
    instrument_init();
    out_of_line_init(GLOBAL_DCONTEXT);
    own_stack_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
    drmgr_register_signal_event(on_signal);
    dr_register_fork_init_event(forked);
    dr_register_pre_detach_event(before_detach);
    dr_register_exit_event(process_ended);
    allocations_init();
    mappings_init();
    regions_init();
    phases_init();
    if (options.attached) {
        start_release_thread();
    }
    dr_set_process_exit_behavior(DR_EXIT_SKIP_THREAD_EXIT);
}

}  // namespace numascape

DR_EXPORT void dr_client_main(client_id_t, int argc, const char* argv[]) {
    numascape::start(argc, argv);
}
