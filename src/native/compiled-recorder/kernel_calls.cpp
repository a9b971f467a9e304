// SPDX-License-Identifier: Apache-2.0
//
// Replaces the functions of the C library by which the kernel reads or fills buffers of the
// program, because the calling thread touches their pages.
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "followed_call.h"

using namespace numascape;

// A function with the name and the arguments of the C library's function. Its system call has the
// same arguments.
#define FOLLOWED(result, name, number, parameters, ...)          \
    NUMASCAPE_EXPORTED result name parameters {                  \
        static result(*real) parameters = nullptr;               \
        FollowedCall call(system_call(number, __VA_ARGS__));     \
        return call.returned(next_of(real, #name)(__VA_ARGS__)); \
    }

FOLLOWED(ssize_t, read, SYS_read, (int file, void* into, size_t bytes), file, into, bytes)
FOLLOWED(ssize_t, pread, SYS_pread64, (int file, void* into, size_t bytes, off_t at), file, into,
         bytes, at)
FOLLOWED(ssize_t, pread64, SYS_pread64, (int file, void* into, size_t bytes, off_t at), file, into,
         bytes, at)
FOLLOWED(ssize_t, readv, SYS_readv, (int file, const iovec* into, int count), file, into, count)
FOLLOWED(ssize_t, preadv, SYS_preadv, (int file, const iovec* into, int count, off_t at), file,
         into, count, at)
FOLLOWED(ssize_t, preadv64, SYS_preadv, (int file, const iovec* into, int count, off_t at), file,
         into, count, at)
FOLLOWED(ssize_t, preadv2, SYS_preadv2,
         (int file, const iovec* into, int count, off_t at, int flags), file, into, count, at,
         flags)
FOLLOWED(ssize_t, preadv64v2, SYS_preadv2,
         (int file, const iovec* into, int count, off_t at, int flags), file, into, count, at,
         flags)
FOLLOWED(ssize_t, recvmsg, SYS_recvmsg, (int socket, msghdr* message, int flags), socket, message,
         flags)
FOLLOWED(int, recvmmsg, SYS_recvmmsg,
         (int socket, mmsghdr* messages, unsigned count, int flags, timespec* timeout), socket,
         messages, count, flags, timeout)
FOLLOWED(ssize_t, recvfrom, SYS_recvfrom,
         (int socket, void* into, size_t bytes, int flags, sockaddr* address, socklen_t* length),
         socket, into, bytes, flags, address, length)
FOLLOWED(ssize_t, recv, SYS_recvfrom, (int socket, void* into, size_t bytes, int flags), socket,
         into, bytes, flags)
FOLLOWED(ssize_t, getdents64, SYS_getdents64, (int file, void* into, size_t bytes), file, into,
         bytes)
FOLLOWED(ssize_t, getrandom, SYS_getrandom, (void* into, size_t bytes, unsigned flags), into, bytes,
         flags)
FOLLOWED(ssize_t, process_vm_readv, SYS_process_vm_readv,
         (pid_t process, const iovec* own, unsigned long own_count, const iovec* other,
          unsigned long other_count, unsigned long flags),
         process, own, own_count, other, other_count, flags)
FOLLOWED(ssize_t, process_vm_writev, SYS_process_vm_writev,
         (pid_t process, const iovec* own, unsigned long own_count, const iovec* other,
          unsigned long other_count, unsigned long flags),
         process, own, own_count, other, other_count, flags)

// The same functions with _FORTIFY_SOURCE, which adds the size of the buffer to the arguments.
FOLLOWED(ssize_t, __read_chk, SYS_read, (int file, void* into, size_t bytes, size_t room), file,
         into, bytes, room)
FOLLOWED(ssize_t, __pread_chk, SYS_pread64,
         (int file, void* into, size_t bytes, off_t at, size_t room), file, into, bytes, at, room)
FOLLOWED(ssize_t, __pread64_chk, SYS_pread64,
         (int file, void* into, size_t bytes, off_t at, size_t room), file, into, bytes, at, room)
FOLLOWED(ssize_t, __recv_chk, SYS_recvfrom,
         (int socket, void* into, size_t bytes, size_t room, int flags), socket, into, bytes, room,
         flags)

// The C library reads large blocks directly, without its own buffer.
NUMASCAPE_EXPORTED size_t fread(void* into, size_t size, size_t count, FILE* file) {
    static size_t (*real)(void*, size_t, size_t, FILE*) = nullptr;
    FollowedCall call(system_call(SYS_read, 0, into, size * count));
    const size_t got = next_of(real, "fread")(into, size, count, file);
    call.returned(static_cast<long>(got * size));
    return got;
}

// --- syscall(2): see system_call.S.

// The function of the C library, if the call has no effect on memory, creates no process, and
// forbids no system calls. Otherwise null; system_call.S then calls numascape_followed.
extern "C" __attribute__((visibility("hidden"))) void* numascape_unfollowed(long number,
                                                                            long first) {
    static long (*real)(long, ...) = nullptr;
    const auto function = next_of(real, "syscall");
    if (os::may_forbid_ticks(number, first)) {
        os::expect_forbidden_ticks();
    }
    const bool followed = has_memory_effects(number) || concerns_process(number, first);
    return followed ? nullptr : reinterpret_cast<void*>(function);
}

extern "C" __attribute__((visibility("hidden"))) long numascape_followed(long number, ...) {
    static long (*real)(long, ...) = nullptr;
    std::va_list list;
    va_start(list, number);
    long a[6];
    for (long& each : a) {
        each = va_arg(list, long);
    }
    va_end(list);
    if (concerns_process(number, a[0])) {
        const long result = call_for_process(number, a);
        errno = result < 0 ? static_cast<int>(-result) : errno;
        return result < 0 ? -1 : result;
    }
    FollowedCall call(system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]));
    return call.returned(next_of(real, "syscall")(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}
