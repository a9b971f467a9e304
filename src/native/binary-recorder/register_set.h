// SPDX-License-Identifier: Apache-2.0
//
// RegisterSet: general registers of the program. GroupAddress: an address that is computed from
// them. Each processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/register_set.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
