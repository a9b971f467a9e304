// SPDX-License-Identifier: Apache-2.0
//
// DWARF's numbers of the registers that call frame information uses, and where a call leaves its
// return address. Each processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/frame_registers.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
