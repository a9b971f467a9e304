// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "held_signals.h"
#include "os.h"
#include "spin_lock.h"
#include "threads.h"

namespace numascape::placer {
namespace {

const Plan* the_plan = nullptr;
ReportHeader* header = nullptr;
std::atomic<bool> ended{false};
SpinLock counting;

std::size_t rule_bytes() {
    return sizeof(RuleReport) + std::size_t{the_plan->header().nodes} * 8;
}

std::size_t report_bytes() {
    return sizeof(ReportHeader) + kMaxThreadReports * sizeof(ThreadReport) +
           the_plan->rule_count() * rule_bytes();
}

RuleReport& rule_report(std::uint32_t rule) {
    char* rules = reinterpret_cast<char*>(header + 1) + kMaxThreadReports * sizeof(ThreadReport);
    return *reinterpret_cast<RuleReport*>(rules + rule * rule_bytes());
}

int create_file(const char* folder) {
    char path[4200];
    for (int attempt = 0; attempt < 1000; ++attempt) {  // a process that became another program
        const int length =
            std::snprintf(path, sizeof path, "%s/process-%u-%d", folder, os::process_id(), attempt);
        if (length <= 0 || length >= static_cast<int>(sizeof path)) return -1;
        const auto file =
            static_cast<int>(os::call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                                      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (file != -EEXIST) return file;
    }
    return -1;
}

void count_block(Block& block) {
    if (block.counted) return;
    block.counted = true;
    RuleReport& report = rule_report(block.placed.rule);
    ++report.instances;
    report.bytes += block.placed.bytes;
    count(*the_plan, block.placed, report, reinterpret_cast<std::uint64_t*>(&report + 1));
}

void end_by_signal(int number) {
    report_end(Ending::kSignal);
    // The default action was restored when this was called (SA_RESETHAND): now it happens.
    os::call(SYS_tgkill, os::process_id(), os::thread_id(), number);
}

}  // namespace

void report_begin(const Plan& plan) {
    the_plan = &plan;
    header = nullptr;
    ended.store(false);
    counting.reset();
    if (plan.header().verifies == 0) return;
    const int file = create_file(plan.text(plan.header().folder));
    if (file < 0) return;
    if (os::truncate(file, report_bytes()) == 0) {
        void* memory = os::map_file(file, 0, report_bytes());
        if (!os::failed(memory)) header = static_cast<ReportHeader*>(memory);
    }
    os::close(file);
    if (header == nullptr) return;
    std::memcpy(header->magic, kMagic, sizeof kMagic);
    header->version = kVersion;
    header->process = os::process_id();
    header->rules = plan.rule_count();
    header->nodes = plan.header().nodes;
    os::call(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
             reinterpret_cast<long>(header->program), sizeof header->program - 1);
}

ThreadReport* report_thread() {
    if (header == nullptr) return nullptr;
    const std::uint32_t index = std::atomic_ref(header->threads).fetch_add(1);
    if (index >= kMaxThreadReports) return nullptr;
    return reinterpret_cast<ThreadReport*>(header + 1) + index;
}

void report_block(Block& block) {
    if (header == nullptr || ended.load()) return;
    const os::HeldSignals held;  // a handler may free a block
    SpinGuard guard(counting);
    count_block(block);
}

void report_unanswered() {
    if (header != nullptr) std::atomic_ref(header->unanswered).fetch_add(1);
}

void report_refused(std::uint32_t calls) {
    if (header != nullptr && calls > 0) std::atomic_ref(header->refused).fetch_add(calls);
}

void report_crowded() {
    if (header != nullptr) std::atomic_ref(header->crowded).fetch_add(1);
}

void report_end(Ending ending) {
    // Not in a child of vfork, which shares this memory until it becomes another program.
    if (header == nullptr || ended.load() || header->process != os::process_id() ||
        ended.exchange(true)) {
        return;
    }
    look_at_threads();
    for_each_block(count_block);
    header->ending = ending;
}

void report_fatal_signals() {
    if (header == nullptr) return;
    struct sigaction action{};
    action.sa_handler = end_by_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
                             SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGXCPU}) {
        struct sigaction before{};
        if (sigaction(number, nullptr, &before) == 0 && (before.sa_flags & SA_SIGINFO) == 0 &&
            before.sa_handler == SIG_DFL) {
            sigaction(number, &action, nullptr);
        }
    }
}

}  // namespace numascape::placer
