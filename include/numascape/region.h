/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names parts of memory for Numascape, in C and C++ (C99, C++98 or newer; GCC, Clang and compilers
 * that understand their assembler statements). It is for programs that divide memory themselves:
 * pools, arenas, large mappings. There is nothing to link.
 *
 *     #include <numascape/region.h>
 *
 *     void* part = pool_take(pool, bytes);
 *     numascape_region("cells", part, bytes);
 *     ...
 *     numascape_region_end(part);
 *     pool_give_back(pool, part);
 *
 * All regions of one name are instances of one structure. A region lasts until
 * numascape_region_end, or until the memory below it is freed or unmapped. Its pages then belong to
 * the memory below it again. Regions may be nested: a page belongs to the region that began last. A
 * region ends older regions that it covers entirely. numascape_region_end ends the last region that
 * began at the address. numascape_region with 0 bytes does the same, and begins no region. Names
 * are at most 255 bytes of UTF-8; a region without a name is not recorded.
 *
 * Without a recorder, a call is one instruction that does nothing. It is also a compiler barrier:
 * memory accesses stay before or after it. On processors other than x86-64, a call is empty.
 */
#ifndef NUMASCAPE_REGION_H
#define NUMASCAPE_REGION_H

#include <stddef.h>

/* The displacement by which the recorder recognises the instruction: "NUMR" backwards. The name is
   in rdi, the address in rsi, and the number of bytes in rdx. */
#define NUMASCAPE_REGION_MARK 0x4e554d52

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
static __inline__ __attribute__((__unused__)) void numascape_region(const char* name,
                                                                    const void* address,
                                                                    size_t bytes) {
    __asm__ __volatile__("{nopl 0x4e554d52(%0)|nop DWORD PTR [%0+0x4e554d52]}"
                         :
                         : "D"(name), "S"(address), "d"(bytes)
                         : "memory");
}
static __inline__ __attribute__((__unused__)) void numascape_region_end(const void* address) {
    numascape_region("", address, 0);
}
#else
static void numascape_region(const char* name, const void* address, size_t bytes) {
    (void)name;
    (void)address;
    (void)bytes;
}
static void numascape_region_end(const void* address) {
    (void)address;
}
#endif

#endif
