// SPDX-License-Identifier: Apache-2.0
//
// The inserted code that looks up one line in the modelled cache of the thread.
#pragma once

#include "dr_api.h"
#include "scratch.h"
#include "traffic.h"

namespace numascape {

// Probes the line of the byte at probe.offset from the address in `a`.
void insert_probe_at(const Emitter& emit, PlaceScratch& scratch, reg_id_t a,
                     const LineProbe& probe);
// The same from the address probe.base.
void insert_static_probe(const Emitter& emit, PlaceScratch& scratch, const LineProbe& probe);

}  // namespace numascape
