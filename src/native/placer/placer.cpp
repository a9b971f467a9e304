// SPDX-License-Identifier: Apache-2.0
#include "placer.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "child_environment.h"
#include "held_signals.h"
#include "modules.h"
#include "os.h"
#include "program_starts.h"
#include "report.h"
#include "resolver.h"
#include "sites.h"
#include "spin_lock.h"
#include "threads.h"

namespace numascape::placer {

bool places_blocks = false;
bool is_silent = false;

namespace {

Plan plan;
bool is_active = false;
std::uint32_t process = 0;
std::uint64_t placed_loads = 0;  // of modules, when their variables were placed last
SpinLock placing_variables;
std::uint64_t signals_before_fork = 0;
thread_local bool is_inside = false;  // allocations within our own calls are not the program's

// The addresses of a module's writable variables with initial values from its file.
struct FilePages {
    std::uint64_t address;  // of a variable
    std::uint64_t first;
    std::uint64_t end;
};

int find_file_pages(dl_phdr_info* info, std::size_t, void* argument) {
    auto& pages = *static_cast<FilePages*>(argument);
    std::uint64_t constant_end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) & segment = info->dlpi_phdr[i];
        const std::uint64_t start = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_GNU_RELRO) constant_end = page_up(start + segment.p_memsz);
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0 || pages.address < start ||
            pages.address >= start + segment.p_memsz) {
            continue;
        }
        pages.first = start;
        pages.end = start + segment.p_filesz;
    }
    // Variables that only the linker writes to lie first.
    if (pages.end != 0 && constant_end > pages.first) pages.first = constant_end;
    return pages.end != 0 ? 1 : 0;
}

// Pages of the file that were not written belong to the page cache. When they are written, they
// become private, on the node of the policy.
void touch(const PlacedVariable& variable) {
    FilePages file{variable.address, 0, 0};
    visit_modules(find_file_pages, &file);
    const std::uint64_t start = variable.first > file.first ? variable.first : file.first;
    const std::uint64_t end = variable.end < file.end ? variable.end : file.end;
    for (std::uint64_t page = page_down(start); page < end; page += kPageBytes) {
        const std::uint64_t at = page < start ? start : page;
        std::atomic_ref(*reinterpret_cast<char*>(at)).fetch_or(0);
    }
}

void place_variable(const PlacedVariable& variable) {
    Block known{};
    if (variable.first == variable.end || find_block(variable.first, known)) return;
    place_now({variable.address, variable.bytes, variable.first, variable.end, variable.rule});
    if (plan.rule(variable.rule).policy != Policy::kFirstTouch) touch(variable);
}

// A process with the maximum number of mappings gets no more memory at all. The plan may therefore
// use half of them. The kernel may combine adjacent ranges; this is not taken into account.
std::atomic<std::uint32_t> ranges{0};
std::uint32_t max_ranges = 65530 / 2;

void read_max_ranges() {
    const auto file = static_cast<int>(os::call(
        SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/sys/vm/max_map_count"), O_RDONLY));
    if (file < 0) return;
    char text[16] = {};
    os::call(SYS_read, file, reinterpret_cast<long>(text), sizeof text - 1);
    os::close(file);
    const int most = std::atoi(text);
    if (most > 0) max_ranges = static_cast<std::uint32_t>(most) / 2;
}

bool knows_all_variables() {
    const std::uint64_t loads = module_loads();
    return loads == placed_loads || loads == kUnknownLoads;
}

void place_variables() {
    if (!plan.places_variables() || knows_all_variables()) return;
    const os::HeldSignals held;  // a handler may fork
    const std::uint64_t loads = module_loads();
    SpinGuard guard(placing_variables);
    if (loads == placed_loads || loads == kUnknownLoads) return;
    const Reply reply = ask_variables(plan, place_variable);
    if (reply != Reply::kLater) placed_loads = loads;
    if (reply == Reply::kNone) report_unanswered();
}

// The locks are held only by threads that hold signals. So a handler that forks finds that its
// thread holds none of them.
void before_fork() {
    const std::uint64_t signals = is_silent ? 0 : os::hold_signals();
    placing_variables.lock();
    lock_modules();
    lock_blocks();
    signals_before_fork = signals;
}

void unlock_after_fork() {
    unlock_blocks();
    unlock_modules();
    placing_variables.unlock();
}

void after_fork_in_parent() {
    const std::uint64_t signals = signals_before_fork;
    unlock_after_fork();
    if (!is_silent) os::release_signals(signals);
}

void begin_in_child() {
    process = os::process_id();
    for_each_block([](Block& block) { block.counted = true; });  // the parent reports those
    report_begin(plan);
    threads_begin(plan);
}

void after_fork_in_child() {
    const std::uint64_t signals = signals_before_fork;
    unlock_after_fork();
    if (is_silent) return;
    begin_in_child();
    os::release_signals(signals);
}

[[gnu::constructor]] void begin() {
    real();
    find_program_starts();
    // The linker ignores LD_PRELOAD for programs that run with another user's rights. If the
    // library is loaded nevertheless, the plan is not applied, because it belongs to this user.
    if (getauxval(AT_SECURE) != 0) return;
    const bool has_plan = plan.open();
    constexpr const char* kNames[] = {kPlanVariable};
    child_environment.hide(kNames, 1);
    if (!has_plan) return;
    const int error = errno;
    is_active = true;
    process = os::process_id();
    report_begin(plan);
    report_fatal_signals();
    threads_begin(plan);
    read_max_ranges();
    place_variables();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    places_blocks = plan.places_blocks();
    errno = error;
}

[[gnu::destructor]] void end() {
    if (is_active) report_end(Ending::kExit);
}

}  // namespace

long call_that_forbids_calls(long number, const long (&a)[6]) {
    const bool placed = places_blocks;
    const bool ours = is_active && process == os::process_id();  // no child of vfork
    if (ours) {
        places_blocks = false;
        is_silent = true;
        report_end(Ending::kExit);
    }
    const long result = os::call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (ours && result < 0) {
        places_blocks = placed;
        is_silent = false;
    }
    return result;
}

std::uint32_t rule_now(bool is_mapping) {
    if (is_inside) return kNone;
    is_inside = true;
    bool unanswered = false;
    const std::uint32_t rule = rule_of_caller(plan, is_mapping, unanswered);
    if (unanswered) report_unanswered();
    place_variables();
    is_inside = false;
    const bool is_placed = rule != kNone && plan.rule(rule).policy != Policy::kFirstTouch;
    return is_placed ? rule : kNone;
}

void place_now(const Placed& placed) {
    if (placed.first >= placed.end || is_silent) return;
    report_refused(place(plan, placed, true));
    add_block({placed, 0, 0, false});
}

bool place_new(const Placed& placed, std::uint64_t mapped_bytes) {
    const std::uint32_t more = range_count(plan, placed);
    if (ranges.fetch_add(more) + more > max_ranges ||
        !add_block({placed, mapped_bytes, more, false})) {
        ranges.fetch_sub(more);
        report_crowded();
        return false;
    }
    report_refused(place(plan, placed, false));
    return true;
}

void leave(const Block& block) {
    ranges.fetch_sub(block.ranges);
}

}  // namespace numascape::placer

namespace numascape {

// The report counts the memory of the process at its end. There is no report if the process
// executes another program.
bool program_begins() {
    return false;
}

void program_failed() {}

}  // namespace numascape

#pragma GCC visibility push(default)
extern "C" {

[[noreturn]] void _exit(int status) {
    if (numascape::placer::is_active) {
        numascape::placer::report_end(numascape::placer::Ending::kExit);
    }
    for (;;) numascape::os::call(SYS_exit_group, status);
}

[[noreturn]] void _Exit(int status) {
    _exit(status);
}

}  // extern "C"
#pragma GCC visibility pop
