// SPDX-License-Identifier: Apache-2.0
//
// Filters of system calls (seccomp) that the program installs. The program makes its filter for its
// own calls. DynamoRIO and the recorder make other calls, and the kernel would end the program for
// them. The filter therefore gets a prefix that allows calls from their code. The program's own
// calls are made from the code cache, and pass through the filter.
#include <cstdint>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "dr_api.h"
#include "drmgr.h"
#include "dynamorio_registers.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

constexpr uint32_t kCallNumber = 0;  // offsets in struct seccomp_data
constexpr uint32_t kArchitecture = 4;
constexpr uint32_t kAddressLow = 8;
constexpr uint32_t kAddressHigh = 12;

struct CodeRange {
    uint64_t start;
    uint64_t end;
};

// The current call of a thread, if its argument was replaced.
struct Replaced {
    void* filter;  // null: none
    size_t bytes;
    sock_fprog program;
    uint64_t arguments[3];  // the first three, as the program gave them
};
int replaced_index = -1;

class FilterWriter {
  public:
    explicit FilterWriter(sock_filter* at) : start_(at), at_(at) {}
    void statement(unsigned code, uint32_t value) {
        *at_++ = {static_cast<uint16_t>(code), 0, 0, value};
    }
    // Skips `yes` statements if the accumulator meets the condition, otherwise `no`.
    void jump(unsigned condition, uint32_t value, uint8_t yes, uint8_t no) {
        *at_++ = {static_cast<uint16_t>(BPF_JMP | BPF_K | condition), yes, no, value};
    }
    void load(uint32_t offset) { statement(BPF_LD | BPF_W | BPF_ABS, offset); }
    void result(uint32_t action) { statement(BPF_RET | BPF_K, action); }
    // Allows calls from the code in [start, end). All of these addresses have the same upper half.
    void allow(uint64_t start, uint64_t end) {
        load(kAddressHigh);
        jump(BPF_JEQ, static_cast<uint32_t>(start >> 32), 0, 4);
        load(kAddressLow);
        jump(BPF_JGE, static_cast<uint32_t>(start), 0, 2);
        jump(BPF_JGT, static_cast<uint32_t>(end - 1), 1, 0);
        result(SECCOMP_RET_ALLOW);
    }
    sock_filter* at() const { return at_; }
    uint16_t length() const { return static_cast<uint16_t>(at_ - start_); }

  private:
    sock_filter* start_;
    sock_filter* at_;
};

constexpr size_t kMaxStatements = 64;  // of the prefix
constexpr uint16_t kMaxOfProgram = BPF_MAXINSNS;

CodeRange mapping_of(const void* code) {
    struct Search {
        uint64_t address;
        CodeRange found;
    } search{reinterpret_cast<uint64_t>(code), {0, 0}};
    each_process_mapping(
        [](const MappedRange& range, void* argument) {
            auto* wanted = static_cast<Search*>(argument);
            if (range.start <= wanted->address && wanted->address < range.end) {
                wanted->found = {range.start, range.end};
            }
        },
        &search);
    return search.found;
}

void allow_range(FilterWriter& filter, const CodeRange& range) {
    constexpr uint64_t kHalf = uint64_t{1} << 32;
    for (uint64_t start = range.start; start < range.end;) {
        const uint64_t border = (start / kHalf + 1) * kHalf;
        const uint64_t end = range.end < border ? range.end : border;
        filter.allow(start, end);
        start = end;
    }
}

void allow_ours(FilterWriter& filter) {
    allow_range(filter, mapping_of(reinterpret_cast<const void*>(&mapping_of)));
    allow_range(filter, mapping_of(reinterpret_cast<const void*>(&dr_get_main_module)));
    filter.statement(BPF_LD | BPF_IMM, 0);  // filters start with accumulator 0
}

// Allows the calls that the strict mode allows, because this mode itself cannot be used.
void allow_strictly(FilterWriter& filter) {
    filter.load(kArchitecture);
    filter.jump(BPF_JEQ, os::kAuditArchitecture, 0, 5);
    filter.load(kCallNumber);
    filter.jump(BPF_JEQ, SYS_read, 4, 0);
    filter.jump(BPF_JEQ, SYS_write, 3, 0);
    filter.jump(BPF_JEQ, SYS_exit, 2, 0);
    filter.jump(BPF_JEQ, SYS_rt_sigreturn, 1, 0);
    filter.result(SECCOMP_RET_KILL_PROCESS);
    filter.result(SECCOMP_RET_ALLOW);
}

// Makes the filter that the kernel gets. `program`: the filter of the program; null for the strict
// mode.
bool make_filter(Replaced& replaced, const void* program) {
    sock_fprog theirs{0, nullptr};
    if (program != nullptr && (!dr_safe_read(program, sizeof theirs, &theirs, nullptr) ||
                               theirs.len == 0 || theirs.len > kMaxOfProgram)) {
        return false;  // the kernel reports the error
    }
    replaced.bytes = (kMaxStatements + theirs.len) * sizeof(sock_filter);
    void* memory = os::map_sparse(replaced.bytes);
    if (os::failed(memory)) {
        return false;
    }
    FilterWriter filter(static_cast<sock_filter*>(memory));
    allow_ours(filter);
    uint16_t length = 0;
    if (program == nullptr) {
        allow_strictly(filter);
        length = filter.length();
    } else {
        if (!dr_safe_read(theirs.filter, theirs.len * sizeof(sock_filter), filter.at(), nullptr)) {
            os::unmap(memory, replaced.bytes);
            return false;
        }
        length = static_cast<uint16_t>(filter.length() + theirs.len);
    }
    replaced.filter = memory;
    replaced.program = {length, static_cast<sock_filter*>(memory)};
    return true;
}

bool of_interest(void*, int number) {
    return number == SYS_seccomp || number == SYS_prctl;
}

// Whether the call sets a filter. If so, `strict` says whether it is the strict mode.
bool sets_filter(int number, const uint64_t (&arguments)[3], bool& strict) {
    if (number == SYS_prctl) {
        strict = arguments[1] == SECCOMP_MODE_STRICT;
        return static_cast<int>(arguments[0]) == PR_SET_SECCOMP &&
               (strict || arguments[1] == SECCOMP_MODE_FILTER);
    }
    strict = static_cast<unsigned>(arguments[0]) == SECCOMP_SET_MODE_STRICT;
    return strict || static_cast<unsigned>(arguments[0]) == SECCOMP_SET_MODE_FILTER;
}

bool before_call(void* drcontext, int number) {
    auto* replaced = static_cast<Replaced*>(drmgr_get_tls_field(drcontext, replaced_index));
    if (!of_interest(drcontext, number) || replaced == nullptr) {
        return true;
    }
    for (int i = 0; i < 3; ++i) {
        replaced->arguments[i] = dr_syscall_get_param(drcontext, i);
    }
    bool strict = false;
    if (!sets_filter(number, replaced->arguments, strict) ||
        (!strict && replaced->arguments[2] == 0) ||
        !make_filter(*replaced,
                     strict ? nullptr : reinterpret_cast<const void*>(replaced->arguments[2]))) {
        return true;
    }
    if (strict) {
        // The kernel requires this for a filter. In the strict mode, no allowed call can detect it.
        os::call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1);
        if (number == SYS_prctl) {
            dr_syscall_set_param(drcontext, 1, SECCOMP_MODE_FILTER);
        } else {
            dr_syscall_set_param(drcontext, 0, SECCOMP_SET_MODE_FILTER);
        }
    }
    dr_syscall_set_param(drcontext, 2, reinterpret_cast<reg_t>(&replaced->program));
    return true;
}

// Restores the arguments, because a system call does not change the registers of its arguments.
void after_call(void* drcontext, int number) {
    auto* replaced = static_cast<Replaced*>(drmgr_get_tls_field(drcontext, replaced_index));
    if (!of_interest(drcontext, number) || replaced == nullptr || replaced->filter == nullptr) {
        return;
    }
    os::unmap(replaced->filter, replaced->bytes);
    replaced->filter = nullptr;
    dr_mcontext_t context;
    context.size = sizeof context;
    context.flags = DR_MC_INTEGER;
    dr_get_mcontext(drcontext, &context);
    set_call_arguments(context, replaced->arguments);
    dr_set_mcontext(drcontext, &context);
}

void thread_started(void* drcontext) {
    auto* replaced = static_cast<Replaced*>(dr_thread_alloc(drcontext, sizeof(Replaced)));
    *replaced = {};
    drmgr_set_tls_field(drcontext, replaced_index, replaced);
}

void thread_ended(void* drcontext) {
    dr_thread_free(drcontext, drmgr_get_tls_field(drcontext, replaced_index), sizeof(Replaced));
}

}  // namespace

void seccomp_init() {
    replaced_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
    dr_register_filter_syscall_event(of_interest);
    drmgr_register_pre_syscall_event(before_call);
    drmgr_register_post_syscall_event(after_call);
}

}  // namespace numascape
