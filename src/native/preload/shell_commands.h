// SPDX-License-Identifier: Apache-2.0
//
// system, popen and pclose. The C library's own start the shell with `environ`, which does not have
// our variables, and which other threads may read, change, or give to a child at any time. So these
// functions start the shell with posix_spawn, which ours replaces.
#pragma once

namespace numascape {

// Looks up the functions of the C library that are used here.
void find_shell_functions();

}  // namespace numascape
