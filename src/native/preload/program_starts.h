// SPDX-License-Identifier: Apache-2.0
//
// Replaces the functions of the C library that execute a program: the executed program gets the
// variables that child_environment.h hides. The library that contains this defines the two
// functions below.
#pragma once

namespace numascape {

// The process is about to execute another program. False if it is not this process, but a child of
// vfork in its memory.
bool program_begins();
// The execution failed; called if program_begins returned true.
void program_failed();

// Looks up the functions that ours replace, because a child of vfork cannot do it.
void find_program_starts();

}  // namespace numascape
