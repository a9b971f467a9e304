// SPDX-License-Identifier: Apache-2.0
//
// Finds the lines that an access would fetch from memory: inlined lookups (line_probes.h) in the
// modelled cache of the thread (cache_model.h), and the slow path behind them.
#pragma once

#include <cstdint>

#include "access_groups.h"
#include "dr_api.h"
#include "scratch.h"

namespace numascape {

// Whether caches are modelled. If so, line_bytes is the size of their lines.
bool traffic();
uint32_t line_bytes();

// Probes the lines of a group. `a` holds the address of its lowest byte, unless the group's address
// is static. The flags may be changed.
void insert_group_probes(const Emitter& emit, PlaceScratch& scratch, const BlockPlan& plan,
                         const AccessGroup& group, const GroupInfo* info, reg_id_t a);
// Probes the line that `a` points into; `bytes` from there are accessed.
void insert_probe(const Emitter& emit, PlaceScratch& scratch, reg_id_t a, uint32_t bytes,
                  bool write, const PlaceInfo& place);

// The description, for the slow path, of a probe whose line moves. The accesses are those of the
// group to that line, or the only access.
struct LineProbe {
    PlaceInfo place;
    const GroupInfo* group;  // null: one access
    uint64_t base;           // the group's lowest address, if it is static; otherwise 0
    int32_t offset;          // of the probed byte from the lowest address
    uint32_t bytes;          // size, if there is only one access
    uint32_t write;
};
void use_probed_line(ThreadRecorder& recorder, uint64_t low, const LineProbe& probe);

// For accesses on the slow path: touches each line once, in ascending order.
void touch_lines(ThreadRecorder& recorder, uint64_t address, uint64_t bytes, bool write,
                 uint64_t pc);

}  // namespace numascape
