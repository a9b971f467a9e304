// SPDX-License-Identifier: Apache-2.0
//
// If a process forbids system calls to itself (seccomp), the kernel kills it at its next call, even
// if the call is ours. The recording therefore makes all necessary calls before. Afterwards it only
// counts.
#include <cerrno>
#include <cstdarg>

#include "forbidden_calls.h"
#include "os.h"
#include "runtime.h"

namespace numascape {
namespace {

// `call` forbids system calls to this thread, or returns a negative number if it cannot.
template <typename Call>
long forbid_calls(Call call) {
    const bool ended = end_calls();
    const long result = call();
    if (ended && result < 0) {
        resume_calls();
    }
    return result;
}

long to_errno(long result) {
    if (result < 0 && result > -4096) {
        errno = static_cast<int>(-result);
        return -1;
    }
    return result;
}

}  // namespace

long call_that_forbids_calls(long number, const long (&a)[6]) {
    return forbid_calls([&] { return os::call(number, a[0], a[1], a[2], a[3], a[4], a[5]); });
}

}  // namespace numascape

NUMASCAPE_EXPORTED int prctl(int option, ...) {
    using namespace numascape;
    std::va_list list;
    va_start(list, option);
    long a[6] = {option};
    for (int i = 1; i < 5; ++i) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    if (os::may_forbid_ticks(SYS_prctl, option)) {
        os::expect_forbidden_ticks();
    }
    const long result = forbids_calls(SYS_prctl, option)
                            ? call_that_forbids_calls(SYS_prctl, a)
                            : os::call(SYS_prctl, a[0], a[1], a[2], a[3], a[4]);
    return static_cast<int>(to_errno(result));
}
