// SPDX-License-Identifier: Apache-2.0
//
// The functions that compiled code calls run on a stack of the recorder, one for each thread. The
// program's stack may be that of a coroutine, with only a few KiB. This header is for C++ and for
// the assembler.
#pragma once

#define NUMASCAPE_OWN_STACK_BYTES 131072
// Offsets in ThreadState.
#define NUMASCAPE_OWN_STACK_TOP 0
#define NUMASCAPE_DEFERRED 8
