// SPDX-License-Identifier: Apache-2.0
//
// The life of a recorded process: options, the shard's begin and end, forks and modules.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "os.h"
#include "private_memory.h"
#include "process_end.h"
#include "runtime.h"

namespace numascape {

// All before any code runs: other libraries' constructors may come before ours.
constinit Options options{};
constinit ShardWriter shard;
constinit HeapBlocks heap(shard);
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

bool read_options() {
    const char* directory = std::getenv(kDirectoryVariable);
    const char* text = std::getenv(kOptionsVariable);
    if (directory == nullptr || directory[0] == '\0') {
        return false;
    }
    append_text(options.directory, directory, sizeof options.directory);
    const std::string_view words = text != nullptr ? text : "";
    options.lines = words.find("-no-lines") == std::string_view::npos;
    options.regions = words.find("-no-regions") == std::string_view::npos;
    options.marks = words.find("-no-marks") == std::string_view::npos;
    options.faults = words.find("-faults") != std::string_view::npos;
    options.every_ns = number_after(words, "-every ");
    return true;
}

int create(const char* suffix) {
    char path[1200];
    char* end = append_text(path, options.directory, sizeof options.directory);
    end = append_text(end, "/", 2);
    end = append_text(end, shard_name, sizeof shard_name);
    append_text(end, suffix, 16);
    return os::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
}

// Opens DIR/PID-N.shard and .tables, N the first free number: after exec a process has a new one.
bool open_files(int& shard_file, int& tables_file) {
    constexpr int kExists = -17;  // EEXIST
    shard_file = kExists;
    for (uint64_t n = 0; n < 10000 && shard_file == kExists; ++n) {
        char* end = append_number(shard_name, os::process_id());
        append_number(append_text(end, "-", 2), n);
        shard_file = create(".shard");
    }
    tables_file = shard_file >= 0 ? create(".tables") : -1;
    return tables_file >= 0;
}

const char* program_path() {
    static char path[1024];
    const long length = os::call(SYS_readlink, reinterpret_cast<long>("/proc/self/exe"),
                                 reinterpret_cast<long>(path), sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return path;
}

// --- Modules: known by where they begin.

constexpr uint32_t kMostModules = 4096;
uint64_t known_modules[kMostModules];
uint32_t known_count = 0;
SpinLock modules_lock;

bool is_known(uint64_t start) {
    for (uint32_t i = 0; i < known_count; ++i) {
        if (known_modules[i] == start) {
            return true;
        }
    }
    return false;
}

int write_if_new(dl_phdr_info* info, size_t, void* argument) {
    uint64_t start = ~uint64_t{0};
    uint64_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const uint64_t low = page_floor(info->dlpi_addr + segment.p_vaddr);
            const uint64_t high = page_ceiling(info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
            start = low < start ? low : start;
            end = high > end ? high : end;
        }
    }
    if (end <= start || is_known(start) || known_count == kMostModules) {
        return 0;
    }
    const bool first = known_count == 0;
    const char* path = first ? program_path() : info->dlpi_name;
    known_modules[known_count++] = start;
    if (path[0] != '/') {
        return 0;  // the kernel's own, linux-vdso.so
    }
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
            const uint64_t code = info->dlpi_addr + segment.p_vaddr;
            call_stacks.add_code(code, code + segment.p_memsz, true);
        }
    }
    write_module(shard, *static_cast<ThreadRecorder*>(argument), RecordType::kModuleLoad,
                 os::ticks(), path, start, end, info->dlpi_addr);
    return 0;
}

// --- Whether a loaded module was compiled for us: its note (stub.S).

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

void write_mappings(ThreadRecorder& recorder, uint64_t time) {
    struct Context {
        ThreadRecorder* recorder;
        uint64_t time;
    } context{&recorder, time};
    each_process_mapping(
        [](const MappedRange& range, void* argument) {
            const auto* to = static_cast<const Context*>(argument);
            if (!std::string_view(range.path).starts_with(options.directory)) {
                write_map_before(shard, *to->recorder, to->time, range);
            }
        },
        &context);
}

void write_placement(ThreadRecorder& recorder, uint64_t time) {
    struct Context {
        ThreadRecorder* recorder;
        uint64_t time;
    } context{&recorder, time};
    each_process_mapping(
        [](const MappedRange& range, void* argument) {
            const auto* to = static_cast<const Context*>(argument);
            write_placement_of(shard, *to->recorder, to->time, range);
        },
        &context);
}

void forked() {
    ThreadRecorder* recorder = thread_state.recorder;
    if (!opened.load() || recorder == nullptr) {
        return;
    }
    const Inside inside;
    char parent[sizeof shard_name];
    std::memcpy(parent, shard_name, sizeof parent);
    int shard_file = -1;
    int tables_file = -1;
    if (!open_files(shard_file, tables_file)) {
        shard.set_flag(kShardChildrenLost);
        shard_file = os::memory_file();
        tables_file = os::memory_file();
    }
    if (!shard.reopen_after_fork(*recorder, shard_file, tables_file, program_path(), parent)) {
        constexpr char kMessage[] = "numascape: no memory to record a forked process\n";
        os::call(SYS_write, 2, reinterpret_cast<long>(kMessage), sizeof kMessage - 1);
        std::abort();
    }
    finished.store(false);
    modules_lock.reset();
    known_count = 0;
    heap.after_fork();
    counting_after_fork();
    phases.after_fork(*recorder);
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
    write_new_modules(*recorder);
    heap.write_live(*recorder, time);
}

// --- Time slices

uint64_t session_begin = 0;  // CLOCK_REALTIME ns

// The first process of a session says in a file when it began; slices of all processes are counted
// from there.
uint64_t read_session_begin() {
    char path[1200];
    append_text(append_text(path, options.directory, sizeof options.directory), "/begin", 16);
    uint64_t begin = shard.start_ns();
    int file = os::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (file >= 0) {
        os::call(SYS_write, file, reinterpret_cast<long>(&begin), sizeof begin);
        os::close(file);
        return begin;
    }
    file = os::open(path, O_RDONLY | O_CLOEXEC);
    uint64_t first = 0;
    if (file >= 0) {
        const bool whole = os::read(file, &first, sizeof first) == sizeof first;
        begin = whole && first < begin ? first : begin;
        os::close(file);
    }
    return begin;
}

void* run_clock(void*) {
    constexpr uint64_t kSecond = 1000000000;
    thread_state.ended = true;  // not one of the program's
    ThreadRecorder* writer = shard.start_writer();
    while (writer != nullptr && !finished.load()) {
        const uint64_t left = phases.follow_clock(*writer, session_begin, options.every_ns);
        const timespec wait{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
        os::call(SYS_nanosleep, reinterpret_cast<long>(&wait), 0);
    }
    return nullptr;
}

void start_clock() {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static Create create_thread = nullptr;
    pthread_t clock;
    session_begin = read_session_begin();
    next_of(create_thread, "pthread_create")(&clock, nullptr, run_clock, nullptr);
}

}  // namespace

bool recording() {
    return opened.load(std::memory_order_acquire);
}

bool open_shard(bool wanted) {
    if (recording()) {
        return true;
    }
    SpinGuard guard(open_lock);
    if (recording() || failed) {
        return recording();
    }
    const Inside inside;
    failed = !read_options();
    bool compiled = wanted || options.faults;
    if (!compiled && !failed) {
        dl_iterate_phdr(find_note, &compiled);
    }
    if (!compiled || failed) {
        return false;
    }
    int shard_file = -1;
    int tables_file = -1;
    failed = failed || !open_files(shard_file, tables_file) ||
             !shard.open(shard_file, tables_file, program_path(), "", 0) || !heap.open() ||
             !call_stacks.open() || !phases.open();
    if (failed) {
        return false;
    }
    if (options.faults) {
        shard.count_nothing();
    }
    opened.store(true, std::memory_order_release);
    ThreadRecorder* recorder = begin_thread();
    if (recorder != nullptr) {
        follow_break(*recorder, 0);
        write_mappings(*recorder, os::ticks());
        write_new_modules(*recorder);
    }
    pthread_atfork(nullptr, nullptr, forked);
    if (options.every_ns != 0) {
        start_clock();
    }
    return true;
}

void write_new_modules(ThreadRecorder& recorder) {
    SpinGuard guard(modules_lock);
    dl_iterate_phdr(write_if_new, &recorder);
}

void finish_shard(uint32_t flag) {
    ThreadRecorder* recorder = thread_state.recorder;
    if (!recording() || finished.exchange(true)) {
        return;
    }
    const Inside inside;
    shard.settle_at_end(recorder);
    if (recorder != nullptr) {
        write_new_modules(*recorder);
        write_placement(*recorder, os::ticks());
        write_process_end(shard, *recorder);
    }
    shard.stamp();
    shard.set_flag(static_cast<ShardFlags>(flag));
}

void* next_function(const char* name) {
    const Inside inside;
    thread_state.looking = true;
    void* found = dlsym(RTLD_NEXT, name);
    thread_state.looking = false;
    if (found == nullptr) {
        std::abort();  // no C library is without
    }
    return found;
}

namespace {

__attribute__((constructor)) void loaded() {
    open_shard(false);
}

__attribute__((destructor)) void unloaded() {
    finish_shard(kShardEnded);
}

}  // namespace
}  // namespace numascape

#define REPLACED(result, name, parameters) NUMASCAPE_EXPORTED result name parameters

REPLACED(void, _exit, (int status)) {
    numascape::finish_shard(numascape::kShardEnded);
    numascape::os::call(SYS_exit_group, status);
    __builtin_unreachable();
}

REPLACED(void, _Exit, (int status)) {
    _exit(status);
}

REPLACED(int, execve, (const char* path, char* const* arguments, char* const* environment)) {
    using Function = int (*)(const char*, char* const*, char* const*);
    static Function real = nullptr;
    if (numascape::recording()) {
        numascape::shard.set_flag(numascape::kShardReplaced);
        numascape::shard.stamp();
    }
    return numascape::next_of(real, "execve")(path, arguments, environment);
}

REPLACED(int, execv, (const char* path, char* const* arguments)) {
    return execve(path, arguments, environ);
}

REPLACED(int, execvp, (const char* file, char* const* arguments)) {
    using Function = int (*)(const char*, char* const*);
    static Function real = nullptr;
    if (numascape::recording()) {
        numascape::shard.set_flag(numascape::kShardReplaced);
        numascape::shard.stamp();
    }
    return numascape::next_of(real, "execvp")(file, arguments);
}
