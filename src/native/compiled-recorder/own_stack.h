// SPDX-License-Identifier: Apache-2.0
//
// For C++ and the assembler. What compiled code calls runs on a stack of the recorder's, one of
// each thread: the program's may be that of a coroutine, of a few KiB.
#pragma once

#define NUMASCAPE_OWN_STACK_BYTES 131072
// Of ThreadState.
#define NUMASCAPE_OWN_STACK_TOP 0
#define NUMASCAPE_DEFERRED 8
