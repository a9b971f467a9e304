// SPDX-License-Identifier: Apache-2.0
//
// Determines which parts of a page the accesses of a group use, if an execution of its block is
// sampled.
#pragma once

#include "access_groups.h"
#include "program_registers.h"
#include "seen_parts.h"

namespace numascape {

// The parts of the page of `low`, the group's lowest address.
SeenParts seen_in(const GroupInfo& group, uint64_t low);
// The same, from the program's registers and the thread pointer (0: unknown); nothing if the
// address is not known from them.
SeenParts seen_in(const GroupInfo& group, const ProgramRegisters& registers,
                  uint64_t thread_pointer);

}  // namespace numascape
