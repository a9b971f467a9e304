// SPDX-License-Identifier: Apache-2.0
//
// The registers of the program as DynamoRIO names them, and as it stores them in a dr_mcontext_t.
// Each processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/dynamorio_registers.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
