// SPDX-License-Identifier: Apache-2.0
//
// The limit of the program's address space (RLIMIT_AS). The recorder reserves more addresses than
// most such limits allow. Therefore the kernel does not get the limit: the recorder keeps it,
// returns it when the program asks, and refuses calls that would exceed it, by the kernel's rules
// (kernel/sys.c and mm/mmap.c of Linux 6.12). The recorder of a program that this one executes
// learns the limit.
#pragma once

#include "memory_calls.h"

namespace numascape {

struct MadeCall {
    bool made;    // the recorder has made the call; the kernel must not
    long result;  // -errno on failure
};

// Whether `number` is a call that sets or returns limits.
bool concerns_limits(long number);
// Sets or returns the limit, if the call asks for this.
MadeCall call_for_address_limit(const SystemCall& call);
// Refuses a call that would map more memory than the limit allows.
MadeCall hold_address_limit(const SystemCall& call);
void address_limit_after_fork();
// Called at the start of the recorder: takes the limit from the recorder of the program that
// executed this one.
void take_over_address_limit();
// Called before the thread of `drcontext` executes another program, whose recorder gets the limit.
void pass_address_limit_on(void* drcontext);
// Called when the recorder leaves a process that continues: the kernel gets the limit.
void hand_over_address_limit();

}  // namespace numascape
