// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "replay.h"
#include "shard_format.h"

namespace numascape {

// The variables in the large frames of functions, and those of threads, which debug information
// describes.
class StackFrameVariables {
  public:
    struct Extent {
        uint32_t variable;
        uint64_t address;
        uint64_t bytes;
    };

    // `places` must exist as long as this object.
    explicit StackFrameVariables(const FramePlaces& places) : places_(places) {}

    // The variables of at least a page that lie in the frame of a StackFrameRecord.
    std::vector<Extent> variables(const RecordView& record) const;
    // The thread-local variables of a thread.
    std::vector<Extent> thread_variables(uint64_t thread_pointer) const;
    // Notes that the owner is a variable of the frame that ends at this address.
    void began(uint64_t frame_end, uint32_t owner) { owners_[frame_end].push_back(owner); }
    // Returns the owners in the frame, and forgets them: the frame is gone.
    std::vector<uint32_t> take(uint64_t frame_end);

  private:
    const FramePlaces& places_;
    std::unordered_map<uint64_t, std::vector<uint32_t>> owners_;
};

}  // namespace numascape
