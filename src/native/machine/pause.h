// SPDX-License-Identifier: Apache-2.0
//
// pause_once: lets the other thread of a core work while a loop waits. Each processor has a folder
// in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/pause.h"
#elif defined(__aarch64__)
#include "arch/aarch64/pause.h"
#else
#error "no code for this processor: see 'Another architecture' in ARCHITECTURE.md"
#endif
