/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks the phases of a program for Numascape, in C and C++ (C99, C++98 or newer; GCC, Clang and
 * compilers that understand their assembler statements). There is nothing to link.
 *
 *     #include <numascape/phase.h>
 *
 *     numascape_phase("read");
 *     read_input();
 *     for (int step = 0; step < steps; ++step) {
 *         numascape_phase("forces");
 *         ...
 *         numascape_phase("move");
 *         ...
 *     }
 *     numascape_phase(NULL);
 *
 * A phase lasts until the next mark. It applies to all threads of the process, so only one thread
 * should set it. A mark with the same name, from any thread, is another repetition of the same
 * phase. NULL or "" ends the phase without beginning another. Names are at most 255 bytes of UTF-8.
 *
 * Without a recorder, a mark is one instruction that does nothing. It is also a compiler barrier:
 * memory accesses stay before or after it. On processors other than x86-64, a mark is empty.
 */
#ifndef NUMASCAPE_PHASE_H
#define NUMASCAPE_PHASE_H

/* The displacement by which the recorder recognises the instruction: "NUMA" backwards. */
#define NUMASCAPE_PHASE_MARK 0x4e554d41

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
static __inline__ __attribute__((__unused__)) void numascape_phase(const char* name) {
    __asm__ __volatile__("{nopl 0x4e554d41(%0)|nop DWORD PTR [%0+0x4e554d41]}"
                         :
                         : "r"(name)
                         : "memory");
}
#else
static void numascape_phase(const char* name) {
    (void)name;
}
#endif

#endif
