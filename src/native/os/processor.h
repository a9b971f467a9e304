// SPDX-License-Identifier: Apache-2.0
//
// The services of the processor that the recorders need: `call` makes a system call, `read_link`
// and `poll` make two whose numbers depend on the processor, `copy_bytes` and `fill_bytes` use no
// vector registers, `pause_once` is for loops that wait, `processor_ticks` reads the time-stamp
// counter, and `thread_pointer` reads the base of thread-local storage. kElfMachine and
// kAuditArchitecture are the numbers of the processor in executables and in seccomp filters. Each
// processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/processor.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
