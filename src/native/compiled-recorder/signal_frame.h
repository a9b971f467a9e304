// SPDX-License-Identifier: Apache-2.0
//
// The state that a signal interrupted. Each processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/signal_frame.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
