// SPDX-License-Identifier: Apache-2.0
//
// The results of the plan in this process, for `numascape run --verify`: a file of fixed size,
// mapped shared, so that it survives the process no matter how it ends. Without --verify there is
// no file, and all functions here do nothing.
#pragma once

#include "blocks.h"
#include "plan.h"

namespace numascape::placer {

// Begins this process's file; again in the child of a fork.
void report_begin(const Plan& plan);

// A thread's entry; nullptr when there is no report or it has too many threads.
ThreadReport* report_thread();

// Counts a block's pages where they are now; must come before they are given back.
void report_block(Block& block);

// Counts questions without an answer, and calls that the kernel refused.
void report_unanswered();
void report_refused(std::uint32_t calls);

// A block was not placed, because the process has too many mappings.
void report_crowded();

// Counts all memory that is still placed, once. Allocates nothing and takes no lock.
void report_end(Ending ending);

// With --verify, signals that would end the program write its report first.
void report_fatal_signals();

}  // namespace numascape::placer
