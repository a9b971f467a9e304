// SPDX-License-Identifier: Apache-2.0
//
// The general-purpose registers of the program where one of its functions was intercepted.
// ProgramRegisters: as the hooks push them, lowest address first, without the stack pointer.
// `argument` are those of the function, frame_pointer is one of them; to_dwarf_order gives all the
// numbers that unwinding needs. return_address_at returns where the return address is. Each
// processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/program_registers.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
