// SPDX-License-Identifier: Apache-2.0
//
// The columns of a replay as tables, without a copy.
#pragma once

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

}  // namespace numascape
