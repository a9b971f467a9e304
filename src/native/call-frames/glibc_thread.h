// SPDX-License-Identifier: Apache-2.0
//
// kThreadNumberInPthread: where glibc keeps the kernel's number of a thread. Each processor has a
// folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/glibc_thread.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
