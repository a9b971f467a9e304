// SPDX-License-Identifier: Apache-2.0
//
// The life of a recorded process: options, the shard's begin and end, forks.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include "child_environment.h"
#include "followed_call.h"
#include "os.h"
#include "private_memory.h"
#include "process_end.h"
#include "program_starts.h"
#include "runtime.h"

namespace numascape {

// Everything is initialised statically, because constructors of other libraries may run before
// ours.
constinit RuntimeOptions options{};
constinit ShardWriter shard;
constinit MemoryRegions memory_regions(shard);
constinit HeapBlocks heap(shard, memory_regions);
constinit CallStackLog call_stacks(shard);
constinit PhaseChoice phases(shard);

namespace {

SpinLock open_lock;
std::atomic<bool> opened{false};
std::atomic<bool> finished{false};
bool failed = false;
char shard_name[64];

constexpr char kDirectoryVariable[] = "NUMASCAPE_COMPILED_DIRECTORY";
constexpr char kOptionsVariable[] = "NUMASCAPE_COMPILED_OPTIONS";

uint64_t number_after(std::string_view text, std::string_view option) {
    const size_t at = text.find(option);
    uint64_t number = 0;
    for (size_t i = at + option.size();
         at != std::string_view::npos && i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
        number = number * 10 + static_cast<uint64_t>(text[i] - '0');
    }
    return number;
}

bool find_options() {
    const char* directory = std::getenv(kDirectoryVariable);
    const char* text = std::getenv(kOptionsVariable);
    if (directory == nullptr || directory[0] == '\0') {
        return false;
    }
    append_text(options.directory, directory, sizeof options.directory);
    const std::string_view words = text != nullptr ? text : "";
    options.source_lines = words.find("-no-source-lines") == std::string_view::npos;
    options.regions = words.find("-no-regions") == std::string_view::npos;
    options.marks = words.find("-no-marks") == std::string_view::npos;
    options.faults = words.find("-faults") != std::string_view::npos;
    options.every_ns = number_after(words, "-every ");
    return true;
}

// Read only once, because they are then removed from the program's environment.
bool read_options() {
    static const bool found = find_options();
    static bool hidden = false;
    if (found && !hidden) {
        hidden = true;
        constexpr const char* kNames[] = {kDirectoryVariable, kOptionsVariable};
        child_environment.hide(kNames, 2);
    }
    return found;
}

using Path = char[1200];
Path shard_path;
Path tables_path;

int create(const char* suffix, Path& path) {
    char* end = append_text(path, options.directory, sizeof options.directory);
    end = append_text(end, "/", 2);
    end = append_text(end, shard_name, sizeof shard_name);
    append_text(end, suffix, 16);
    return OwnFile::moved_up(os::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC));
}

// Opens DIR/PID-N.shard and .tables, where N is the first free number: each exec needs a new one.
bool open_files(int& shard_file, int& tables_file) {
    constexpr int kExists = -17;  // EEXIST
    shard_file = kExists;
    for (uint64_t n = 0; n < 10000 && shard_file == kExists; ++n) {
        char* end = append_number(shard_name, os::process_id());
        append_number(append_text(end, "-", 2), n);
        shard_file = create(".shard", shard_path);
    }
    tables_file = shard_file >= 0 ? create(".tables", tables_path) : -1;
    shard.name_files(shard_path, tables_path);
    return tables_file >= 0;
}

}  // namespace

const char* program_path() {
    static char path[1024];
    const long length = os::read_link("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return path;
}

void each_mapping(void (*visit)(const MappedRange&, void*), void* argument) {
    struct Visit {
        void (*function)(const MappedRange&, void*);
        void* argument;
    } wanted{visit, argument};
    each_process_mapping(
        [](const MappedRange& range, void* to) {
            const auto* each = static_cast<const Visit*>(to);
            if (!shard.owns(range.start) &&
                !std::string_view(range.path).starts_with(options.directory)) {
                each->function(range, each->argument);
            }
        },
        &wanted);
}

namespace {

void write_mappings(ThreadRecorder& recorder, uint64_t time) {
    struct Context {
        ThreadRecorder* recorder;
        uint64_t time;
    } context{&recorder, time};
    each_mapping(
        [](const MappedRange& range, void* argument) {
            const auto* to = static_cast<const Context*>(argument);
            memory.was_mapped(range);
            write_map_before(shard, *to->recorder, to->time, range);
        },
        &context);
}

void write_placement(ThreadRecorder& recorder, uint64_t time) {
    struct Context {
        ThreadRecorder* recorder;
        uint64_t time;
    } context{&recorder, time};
    each_mapping(
        [](const MappedRange& range, void* argument) {
            const auto* to = static_cast<const Context*>(argument);
            write_placement_of(shard, *to->recorder, to->time, range);
        },
        &context);
}

void reopen_shard(ThreadRecorder& recorder) {
    char parent[sizeof shard_name];
    std::memcpy(parent, shard_name, sizeof parent);
    int shard_file = -1;
    int tables_file = -1;
    const bool opened_files = open_files(shard_file, tables_file);
    shard.close_files_of_parent();
    if (!opened_files) {
        shard.set_flag(kShardChildrenLost);
        shard_file = OwnFile::moved_up(os::memory_file());
        tables_file = OwnFile::moved_up(os::memory_file());
        shard.name_files("", "");
    }
    if (!shard.reopen_after_fork(recorder, shard_file, tables_file, program_path(), parent)) {
        constexpr char kMessage[] = "numascape: no memory to record a forked process\n";
        os::call(SYS_write, 2, reinterpret_cast<long>(kMessage), sizeof kMessage - 1);
        std::abort();
    }
    finished.store(false);
    heap.after_fork();
    memory.after_fork();
    locked_memory.end();
    memory_regions.after_fork();
    phases.after_fork(recorder);
    const uint64_t time = os::ticks();
    auto* record = static_cast<ThreadStartRecord*>(shard.append(
        recorder, RecordType::kThreadStart, recorder.thread, sizeof(ThreadStartRecord)));
    record->time = time;
    record->stack_start = recorder.stack_start;
    record->stack_end = recorder.stack_end;
    record->os_tid = recorder.os_tid;
    record->cpu = os::current_cpu();
    shard.commit(recorder, record);
    write_mappings(recorder, time);
    write_new_modules(recorder);
    shard.log_thread_pointer(recorder, recorder.thread_pointer);
    heap.write_live(recorder, time);
    memory_regions.write_live(recorder, time);
}

}  // namespace

bool is_finished() {
    return finished.load();
}

bool recording() {
    return opened.load(std::memory_order_acquire);
}

// Takes the locks in the order in which the recorder takes them while it holds others.
void threads_before_fork() {
    ++thread_state.writing;
    thread_state.forking = recording() && shard.is_of_this_process();
    if (thread_state.forking) {
        signals_before_fork();
        modules_before_fork();
        counting_before_fork();
        phases.lock();
        heap.lock();
        memory_regions.lock();
        shard.lock();
    }
}

void forked_in_parent() {
    if (thread_state.forking) {
        shard.unlock();
        memory_regions.unlock();
        heap.unlock();
        phases.unlock();
        counting_after_fork(false);
        modules_after_fork(false);
        signals_after_fork(false);
    }
    if (--thread_state.writing == 0) {
        let_signals_in();
    }
}

void forked_in_child() {
    if (thread_state.forking) {
        shard.unlock();
        counting_after_fork(true);
        modules_after_fork(true);
        signals_after_fork(true);
        if (thread_state.recorder != nullptr) {
            const ReentrancyGuard inside;
            reopen_shard(*thread_state.recorder);
        } else {
            opened.store(false);
        }
    } else if (thread_state.recorder != nullptr && !shard.makes_calls()) {
        stop_counting();
    }
    if (--thread_state.writing == 0) {
        let_signals_in();
    }
}

bool open_shard(bool wanted) {
    if (recording()) {
        return true;
    }
    SpinGuard guard(open_lock);
    if (recording() || failed) {
        return recording();
    }
    const ReentrancyGuard inside;
    failed = !read_options();
    const bool compiled = wanted || options.faults || (!failed && compiled_code_is_loaded());
    if (!compiled || failed) {
        return false;
    }
    int shard_file = -1;
    int tables_file = -1;
    failed = failed || !open_files(shard_file, tables_file) ||
             !shard.open(shard_file, tables_file, program_path(), "", 0) || !heap.open() ||
             !call_stacks.open() || !touch_callers.open() || !phases.open();
    if (failed) {
        return false;
    }
    if (options.faults) {
        shard.count_nothing();
    }
    opened.store(true, std::memory_order_release);
    ThreadRecorder* recorder = begin_thread();
    if (recorder != nullptr) {
        memory.follow_break(static_cast<uint64_t>(os::call(SYS_brk, 0)));
        write_mappings(*recorder, os::ticks());
        write_new_modules(*recorder);
    }
    pthread_atfork(threads_before_fork, forked_in_parent, forked_in_child);
    take_over_handlers();
    if (options.every_ns != 0) {
        start_time_slices();
    }
    return true;
}

void finish_shard(uint32_t flag) {
    ThreadRecorder* recorder = thread_state.recorder;
    // A child of vfork ends in its parent's memory.
    if (!recording() || !shard.is_of_this_process() || finished.exchange(true)) {
        return;
    }
    const ReentrancyGuard inside;
    shard.flush_at_end(recorder);
    if (recorder != nullptr) {
        write_new_modules(*recorder);
        write_placement(*recorder, os::ticks());
        write_process_end(shard, *recorder);
    }
    shard.stamp();
    shard.set_flag(static_cast<ShardFlags>(flag));
}

bool end_calls() {
    if (!recording() || !shard.is_of_this_process()) {
        return false;
    }
    const ReentrancyGuard inside;
    spare_counters();
    finish_shard(kShardEnded);
    options.source_lines = false;
    failed = true;
    opened.store(false);
    shard.make_no_calls(thread_state.recorder);
    return true;
}

void resume_calls() {
    const ReentrancyGuard inside;
    shard.make_calls();
    shard.clear_flag(kShardEnded);
    failed = false;
    finished.store(false);
    opened.store(true);
}

void* next_function(const char* name) {
    const ReentrancyGuard inside;
    thread_state.looking = true;
    void* found = dlsym(RTLD_NEXT, name);
    thread_state.looking = false;
    if (found == nullptr) {
        std::abort();  // every C library has this function
    }
    return found;
}

namespace {

__attribute__((constructor)) void loaded() {
    find_program_starts();
    open_shard(false);
}

__attribute__((destructor)) void unloaded() {
    finish_shard(kShardEnded);
}

}  // namespace

bool program_begins() {
    if (!recording() || !shard.is_of_this_process()) {
        return false;
    }
    const ReentrancyGuard inside;
    shard.flush_at_end(thread_state.recorder);
    shard.set_flag(kShardReplaced);
    shard.stamp();
    return true;
}

void program_failed() {
    shard.clear_flag(kShardReplaced);
}

}  // namespace numascape

#define REPLACED(result, name, parameters) NUMASCAPE_EXPORTED result name parameters

REPLACED(void, _exit, (int status)) {
    numascape::finish_shard(numascape::kShardEnded);
    for (;;) {
        numascape::os::call(SYS_exit_group, status);
    }
}

REPLACED(void, _Exit, (int status)) {
    _exit(status);
}
