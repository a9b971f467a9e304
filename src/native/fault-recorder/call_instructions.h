// SPDX-License-Identifier: Apache-2.0
//
// ends_call(before): whether the 8 bytes of code before an address end with a call, so that the
// address may be a return address. Each processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/call_instructions.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
