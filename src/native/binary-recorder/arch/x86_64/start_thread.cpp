// SPDX-License-Identifier: Apache-2.0
#include "start_thread.h"

#include <sys/syscall.h>

// The code of the thread. It is copied to separate memory, because this library is unmapped when
// DynamoRIO leaves. The call of futex has a timeout, so that it ends when a signal arrives. Without
// a timeout it would continue, and DynamoRIO would not see the nudge. The code makes no access to
// memory, so nothing of it is counted. r12: the word for which it waits; r13: its stack; r14: a
// signal set. The code must not use thread-local storage, because that would be the storage of its
// creator.
__asm__(R"(
    .pushsection .rodata
    .globl numascape_release_code, numascape_release_code_end
    .hidden numascape_release_code, numascape_release_code_end
numascape_release_code:
    mov $158, %eax          # arch_prctl(ARCH_SET_GS, 0)
    mov $0x1001, %edi
    xor %esi, %esi
    syscall
    mov $158, %eax          # arch_prctl(ARCH_SET_FS, 0)
    mov $0x1002, %edi
    syscall
1:  mov $14, %eax           # rt_sigprocmask(SIG_SETMASK, set, null, 8)
    mov $2, %edi
    mov %r14, %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $202, %eax          # futex(word, FUTEX_WAIT_PRIVATE, 0, time): EAGAIN when it is not 0
    mov %r12, %rdi
    mov $128, %esi
    xor %edx, %edx
    lea 8(%r12), %r10
    syscall
    cmp $-11, %rax
    jne 1b
    mov $11, %eax           # munmap(stack)
    mov %r13, %rdi
    mov $65536, %esi
    syscall
    mov $60, %eax           # exit(0), of this thread
    xor %edi, %edi
    syscall
numascape_release_code_end:
    .popsection
)");

namespace numascape {

long start_thread(long flags, const StartedThread& thread) {
    long result = SYS_clone;
    register std::atomic<uint32_t>* is_alive __asm__("r10") = thread.is_alive;
    register long no_storage __asm__("r8") = 0;
    register void* word __asm__("r12") = thread.word;
    register char* stack __asm__("r13") = thread.stack;
    register const uint64_t* signals __asm__("r14") = thread.signals;
    __asm__ volatile("syscall\n test %%rax, %%rax\n jnz 1f\n jmp *%%rbx\n1:"
                     : "+a"(result)
                     : "D"(flags), "S"(thread.stack_pointer), "d"(0L), "r"(is_alive),
                       "r"(no_storage), "b"(thread.code), "r"(word), "r"(stack), "r"(signals)
                     : "rcx", "r11", "memory");
    return result;
}

}  // namespace numascape
