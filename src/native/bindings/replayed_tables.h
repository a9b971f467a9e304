// SPDX-License-Identifier: Apache-2.0
//
// The columns of a replay as tables, without a copy.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "fault_log.h"
#include "replay.h"
#include "table.h"

namespace numascape {

Table owners(Owners&& columns);
Table counts(CountColumns&& columns);
Table touches(TouchColumns&& columns);
Table placement(PlacementColumns&& columns);
Table sites(SiteColumns&& columns);
Table samples(SampleColumns&& columns);
Table shared_samples(SharedSampleColumns&& columns);
Table shares(ShareColumns&& columns);
Table transfers(TransferColumns&& columns);
Table kernel_accesses(KernelAccessColumns&& columns);
Table instructions(InstructionColumns&& columns);
Table work(WorkColumns&& columns);
Table seen_lines(SeenLineColumns&& columns);
Table seen_in_modules(SeenInModuleColumns&& columns);
Table sampled_paths(SampledPathColumns&& columns);
// The calls of a log of faults: number, callers, pc.
Table calls(const std::unordered_map<uint32_t, SampledCall>& by_number);

}  // namespace numascape
