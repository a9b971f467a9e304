// SPDX-License-Identifier: Apache-2.0
//
// What code inside the program needs from the processor: `call` makes a system call,
// `processor_ticks` reads the time-stamp counter, and `thread_pointer` reads the base of
// thread-local storage. kAuditArchitecture is the number of the processor in seccomp filters. Each
// processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/processor.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
