// SPDX-License-Identifier: Apache-2.0
//
// Included by slow_paths.h alone.
#pragma once

#include "dr_api.h"

namespace numascape {

struct SlowPaths {
    // With the carry flag: kArgument = offset of a page counter that was zero (first use by this
    // thread in this phase), kSecond = its table. Without: kArgument = lowest address of a group
    // that is not in one page. kInfo = GroupInfo.
    app_pc group;
    app_pc repeated_string;  // after it: kRepeats = rcx before it, kInfo = RepeatedString
    app_pc saved_state;      // kArgument = address, kSecond = rax, kInfo = SavedState
    app_pc bit_test;         // kArgument = address, kSecond = number, kInfo = BitTest
    // With the carry flag: as `group`. Without: kArgument = address, kSecond = lanes, kInfo =
    // MaskedShape.
    app_pc masked;
    app_pc function_called;  // kInfo = FunctionHook
    app_pc allocation_returned;
    app_pc region_returned;
    app_pc block_counter;  // see block_heads.h
    app_pc gathered;       // kArgument = base, kSecond = lanes, kVector, kInfo = GatherShape
    app_pc lines_wait;     // when the queue of waiting lines is full
    app_pc line_moves;     // kArgument = lowest address, kInfo = LineProbe (traffic.h)
};
}  // namespace numascape
