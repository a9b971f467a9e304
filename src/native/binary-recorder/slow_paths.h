// SPDX-License-Identifier: Apache-2.0
//
// SlowPaths: code to which the inserted code jumps, with arguments in thread slots. It keeps all
// registers but the arithmetic flags. Each processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/slow_paths.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
