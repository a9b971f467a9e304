// SPDX-License-Identifier: Apache-2.0
//
// The DynamoRIO client: life of the process and of its threads. options.cpp has its options.

#include <signal.h>

#include "address_limit.h"
#include "burst_cost.h"
#include "bursts.h"
#include "dr_api.h"
#include "drmgr.h"
#include "dynamorio_registers.h"
#include "frame_changes.h"
#include "os.h"
#include "phases.h"
#include "process_end.h"
#include "process_maps.h"
#include "recorder.h"
#include "release_thread.h"
#include "shard_files.h"
#include "thread_memory.h"
#include "thread_pointer.h"
#include "undecoded.h"

namespace numascape {

ShardWriter shard;
MemoryRegions memory_regions(shard);

bool detached = false;

namespace {

ShardFiles files;
PageCounter* spare_table = nullptr;  // for threads without a table; its counts are lost
int child_index = -1;                // thread-local field: the recorder of a child of vfork
ThreadRecorder* idle_children = nullptr;
SpinLock child_lock;
ThreadRecorder* detach_writer = nullptr;  // writes the last records
int own_stack_index = -1;  // thread-local field, because at detach another thread ends the threads
ThreadMemory own_stacks(kOwnStackBytes);

const char* program_path() {
    static char path[1024];
    const long length = os::read_link("/proc/self/exe", path, sizeof path - 1);
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

MappingRange find_stack(void* drcontext) {
    dr_mcontext_t context;
    context.size = sizeof context;
    context.flags = DR_MC_CONTROL;
    dr_get_mcontext(drcontext, &context);
    if (const MappingRange range = query_mapping(context.xsp); range.end != 0) {
        return stack_within(range, context.xsp);
    }
    dr_mem_info_t info;
    if (!dr_query_memory_ex(reinterpret_cast<byte*>(context.xsp), &info) ||
        info.type == DR_MEMTYPE_FREE) {
        return {0, 0};
    }
    const auto start = reinterpret_cast<uint64_t>(info.base_pc);
    return stack_within({start, start + info.size}, context.xsp);
}

void fill_line_slots(const ThreadRecorder& recorder) {
    const LineUser user = SharedLines::user(recorder.thread);
    write_thread_slot(ThreadSlot::kLineStates, shard.shared_lines().states());
    write_thread_slot(ThreadSlot::kHasLine, reinterpret_cast<const void*>(user.has));
    write_thread_slot(ThreadSlot::kOwnsLine, reinterpret_cast<const void*>(user.owns));
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
        fill_line_slots(*recorder);
    }
    write_thread_slot(ThreadSlot::kVector, own_stack);
    write_thread_slot(ThreadSlot::kOwnStack, static_cast<char*>(own_stack) + kOwnStackBytes);
}

// DynamoRIO treats a child of vfork like a thread, because it shares the memory of its parent. It
// is not a thread of the process, and is not counted until it executes another program.
ThreadRecorder* start_child(void* drcontext) {
    ThreadRecorder* recorder = nullptr;
    {
        SpinGuard guard(child_lock);
        recorder = idle_children;
        idle_children = recorder != nullptr ? recorder->next : nullptr;
    }
    recorder = recorder != nullptr ? recorder : shard.start_writer();
    const bool cached = recorder != nullptr && shard.give_cache(*recorder);
    DR_ASSERT(cached);
    (void)cached;
    drmgr_set_tls_field(drcontext, child_index, recorder);
    return recorder;
}

bool end_child(void* drcontext) {
    auto* recorder = static_cast<ThreadRecorder*>(drmgr_get_tls_field(drcontext, child_index));
    if (recorder == nullptr) {
        return false;
    }
    SpinGuard guard(child_lock);
    recorder->next = idle_children;
    idle_children = recorder;
    return true;
}

void thread_started(void* drcontext) {
    if (is_release_thread()) {
        return;
    }
    os::find_forbidden_ticks();
    const bool of_the_process = shard.is_of_this_process();
    static std::atomic<bool> first{true};
    const bool main_thread = first.exchange(false);
    const MappingRange stack = main_thread ? find_main_stack() : find_stack(drcontext);
    ThreadRecorder* recorder =
        of_the_process ? shard.start_thread(stack.start, stack.end) : start_child(drcontext);
    void* own_stack = own_stacks.take();
    DR_ASSERT(recorder != nullptr && !os::failed(own_stack));
    drmgr_set_tls_field(drcontext, own_stack_index, own_stack);
    fill_slots(recorder, own_stack);
    if (bursts() && of_the_process) {
        start_bursts(*recorder);
    }
    if (main_thread) {
        write_mappings(*recorder, os::ticks());
    }
    if (of_the_process) {
        shard.log_thread_pointer(*recorder, thread_pointer());
    }
}

void thread_ended(void* drcontext) {
    void* own_stack = drmgr_get_tls_field(drcontext, own_stack_index);
    if (own_stack != nullptr) {
        own_stacks.give_back(own_stack, dr_get_current_drcontext() == drcontext);
        drmgr_set_tls_field(drcontext, own_stack_index, nullptr);
    }
    if (end_child(drcontext)) {
        return;
    }
    // After a fork, DynamoRIO calls this in the child for threads that only its parent has.
    const bool other_thread = dr_get_current_drcontext() != drcontext;
    ThreadRecorder* recorder = detached || other_thread ? nullptr : self();
    if (recorder == nullptr) {
        return;
    }
    // A stack may be cached and used by the next thread, so its counts are written when its owner
    // ends.
    if (recorder->stack_end > recorder->stack_start &&
        recorder->stack_end - recorder->stack_start < kWindowMask / 2) {
        const uint32_t first = window_page(recorder->stack_start);
        const uint32_t end = window_page(recorder->stack_end - 1) + 1;
        shard.retire(*recorder, first, end, os::ticks());
        shard.forget_lines(first, end);
    }
    char name[16];
    read_own_name(name);
    write_thread_slot(ThreadSlot::kRecorder, nullptr);
    shard.end_thread(recorder, name);
}

void forked(void*) {
    ThreadRecorder* recorder = self();
    char parent[64];
    dr_snprintf(parent, sizeof parent, "%s", shard_name());
    if (recorder == nullptr) {
        return;
    }
    const ShardFiles before = files;
    // A child that gets no files continues unrecorded. The shard of its parent, which is still
    // mapped here, records this.
    if (!open_shard_files(files)) {
        shard.set_flag(kShardChildrenLost);
        files = memory_shard_files();
    }
    const bool opened =
        shard.reopen_after_fork(*recorder, files.shard, files.tables, program_path(), parent);
    dr_close_file(before.shard);
    dr_close_file(before.tables);
    if (!opened) {
        dr_fprintf(STDERR, "numascape: no memory to record the forked process %u\n",
                   os::process_id());
        dr_abort();
    }
    fill_line_slots(*recorder);
    bursts_after_fork(*recorder);
    child_lock.reset();
    idle_children = nullptr;
    own_stacks.after_fork();
    hooks_after_fork();
    instrument_after_fork();
    kept_values_after_fork();
    block_heads_after_fork();
    allocations_after_fork();
    memory.after_fork();
    locked_memory.end();
    address_limit_after_fork();
    memory_regions.after_fork();
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
    shard.log_thread_pointer(*recorder, recorder->thread_pointer);
    write_live_blocks(*recorder, time);
    memory_regions.write_live(*recorder, time);
    large_frames_after_fork(*recorder, time);
}

dr_signal_action_t on_signal(void* drcontext, dr_siginfo_t* info) {
    if (info->sig == SIGBUS &&
        shard.survive_full_disk(reinterpret_cast<uint64_t>(info->access_address))) {
        return DR_SIGNAL_SUPPRESS;
    }
    if (info->sig == SIGILL) {
        tell_of_undecoded(drcontext, reinterpret_cast<uint64_t>(info->mcontext->pc));
    }
    if ((info->sig == SIGSEGV || info->sig == SIGBUS) && info->raw_mcontext_valid) {
        count_faulted_string(*info->mcontext);
    }
    return DR_SIGNAL_DELIVER;
}

// Writes what is only known at the end, as records of `recorder`'s thread. Threads may still be
// counting, so their tables do not change.
void finish_shard(ShardFlags flag, ThreadRecorder* recorder) {
    shard.flush_at_end(recorder);
    note_cost();
    if (recorder != nullptr) {
        write_placement(*recorder, os::ticks());
        shard.log_work_at_end(*recorder);
        write_process_end(shard, *recorder);
    }
    shard.stamp();
    shard.set_flag(flag);
}

// DynamoRIO is about to stop all threads, which then continue without it.
void before_detach() {
    stop_clock();
    // The release thread has no recorder. It gets one now, only to write these records.
    detach_writer = self() == nullptr ? shard.start_writer() : nullptr;
    finish_shard(kShardDetached, detach_writer != nullptr ? detach_writer : self());
    regions_stop();
    allocations_stop();
    detached = true;
}

void process_ended() {
    stop_clock();
    if (detached) {
        // The process continues, and may be attached to again: nothing of ours may remain.
        phases_close();
        if (detach_writer != nullptr) {
            shard.end_writer(detach_writer);
        }
        while (idle_children != nullptr) {
            ThreadRecorder* child = idle_children;
            idle_children = child->next;
            shard.end_writer(child);
        }
        shard.close();
        call_stacks.close();
        touch_callers.close();
        allocations_exit();
        memory_regions.close();
        memory.close();
        block_heads_exit();
        kept_values_exit();
        own_stacks.close();
        if (spare_table != nullptr) {
            os::unmap(table_memory(spare_table), kTableStride);
        }
        end_release_thread();
        hand_over_address_limit();
    } else {
        finish_shard(kShardEnded, self());
    }
    instrument_exit();
    thread_slots_exit();
    drmgr_exit();
}

}  // namespace

void start(int argc, const char* argv[]) {
    dr_set_client_name("Numascape", "the project's issue tracker");
    shard.grow_files_by(grow_shard_file);
    const bool understood = parse_options(argc, argv);
    shard.count_bursts(bursts() ? kBurstGroups : 0, holds_cost() ? kMaxBurstLevels : 1);
    if (!understood || !open_first_shard_files(files) ||
        !shard.open(files.shard, files.tables, program_path(), "",
                    options.attached ? uint32_t{kShardAttached} : 0)) {
        dr_fprintf(STDERR, "numascape: cannot write a shard into %s\n", options.directory);
        dr_abort();
    }
    if (options.cache.ways != 0) {
        shard.model_caches(options.cache);
    }
    drmgr_init();
    thread_slots_init();
    const bool opened = call_stacks.open() && touch_callers.open();
    DR_ASSERT(opened);
    (void)opened;
    block_heads_init();
    instrument_init();
    slow_paths_init(GLOBAL_DCONTEXT);
    own_stack_index = drmgr_register_tls_field();
    child_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
    drmgr_register_signal_event(on_signal);
    dr_register_fork_init_event(forked);
    dr_register_pre_detach_event(before_detach);
    dr_register_exit_event(process_ended);
    allocations_init();
    mappings_init();
    take_over_address_limit();
    system_calls_init();
    seccomp_init();
    regions_init();
    large_frames_init();
    phases_init();
    bursts_init();
    if (options.attached) {
        start_release_thread();
    }
    dr_set_process_exit_behavior(DR_EXIT_SKIP_THREAD_EXIT);
}

}  // namespace numascape

DR_EXPORT void dr_client_main(client_id_t, int argc, const char* argv[]) {
    numascape::start(argc, argv);
}
