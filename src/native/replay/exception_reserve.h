// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "page_owners.h"
#include "replay.h"

namespace numascape {

// The block that libstdc++ reserves for exceptions when memory is exhausted: some 72 KiB, which it
// allocates before main (libsupc++/eh_alloc.cc). Hardly any program uses it. The blocks that a
// program allocates first share its last page.
class ExceptionReserve {
  public:
    // Whether the next block of the process is the reserve: the first that the library allocates,
    // if it has about that size.
    bool is(const AllocRecord& block, const std::unordered_map<uint64_t, CallStack>& call_stacks,
            const PageOwners& owners);

  private:
    bool first_block_seen_ = false;
};

}  // namespace numascape
