// SPDX-License-Identifier: Apache-2.0
//
// The shard: the raw record of one process. It has two files. The recorder maps both MAP_SHARED,
// so everything that is written to them survives a killed program:
//
//   NAME.shard                                   NAME.tables (sparse)
//   +--------------------------+ 0               +-----------------------------+ 0
//   | ShardHeader              |                 | table 0: block counters     |
//   +--------------------------+ 4 KiB           |   page counters             |
//   | TableOwner[kMaxTables]   |                 +-----------------------------+ kTableStride
//   +--------------------------+ kLogOffset      | table 1                     |
//   | chunk 0 (64 KiB)         |                 +-----------------------------+ 2 kTableStride
//   |   ChunkHeader, records   |                 | ...                         |
//   +--------------------------+
//   | chunk 1 ...              |
//
// A page counter counts one page for one thread in one phase. It holds *negated* counts (see
// page_counters.h):
//
//   page counter  = table + ((address & (2^40 - 1)) >> 12) * 16
//   +0    u64  0 - reads        +8   u64  0 - writes
//
// With a modelled cache (cache_model.h) a thread has a second table in each phase, *of lines*: its
// page counters count lines fetched from memory, and lines made dirty.
//
// `table` is the address of page counter 0; below it, downwards, lie the counters of basic blocks
// (see block_counters.h): counter = table - 16 * (number + 1).
//
// All numbers are little endian. Times are processor time-stamp ticks; the header gives two pairs
// (ticks, CLOCK_REALTIME ns) to convert them. Records are ordered by their time, not by position.
#pragma once

#include "call_stack_records.h"
#include "count_records.h"
#include "memory_records.h"
#include "record_header.h"
#include "shard_layout.h"
#include "thread_records.h"
