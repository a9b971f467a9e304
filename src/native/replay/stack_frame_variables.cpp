// SPDX-License-Identifier: Apache-2.0
#include "stack_frame_variables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "frame_registers.h"

namespace numascape {
namespace {

std::optional<uint64_t> base_of(const StackFrameRecord& frame, FramePlace::Base base, bool probed) {
    switch (base) {
        case FramePlace::Base::kFrameAddress:
            return frame.frame_address != 0 ? std::optional(frame.frame_address) : std::nullopt;
        case FramePlace::Base::kFramePointer:
            return frame.frame_pointer;
        case FramePlace::Base::kStackPointer:
            // The frame may be larger than what was seen.
            return probed ? std::nullopt : std::optional(frame.end);
        case FramePlace::Base::kWholeFrame:
            return frame.end;
        case FramePlace::Base::kThreadPointer:
            break;
    }
    return std::nullopt;
}

}  // namespace

std::vector<StackFrameVariables::Extent> StackFrameVariables::variables(
    const RecordView& record) const {
    const auto& frame = record.as<StackFrameRecord>();
    const bool probed = (record.header->flags & kFrameProbed) != 0;
    std::vector<Extent> found;
    const auto places = places_.find(frame.pc);
    const bool is_frame = frame.start > frame.end && frame.start - frame.end <= kWindowMask;
    if (places == places_.end() || !is_frame) {
        return found;
    }
    for (const FramePlace& place : places->second) {
        const bool is_whole = place.base == FramePlace::Base::kWholeFrame;
        const auto base = base_of(frame, place.base, probed);
        const uint64_t bytes = is_whole ? frame.start - frame.end : place.bytes;
        const uint64_t address = base.value_or(0) + static_cast<uint64_t>(place.offset);
        // If a register does not hold what debug information says, the address is elsewhere.
        const uint64_t end = frame.end - (probed ? kPageBytes : 0) - kRedZoneBytes;
        const bool fits = base && bytes >= kPageBytes && bytes <= frame.start - end &&
                          address >= end && address <= frame.start - bytes;
        if (fits) {
            found.push_back({place.variable, address, bytes});
        }
    }
    return found;
}

std::vector<StackFrameVariables::Extent> StackFrameVariables::thread_variables(
    uint64_t thread_pointer) const {
    std::vector<Extent> found;
    const auto places = places_.find(0);
    if (places == places_.end()) {
        return found;
    }
    for (const FramePlace& place : places->second) {
        if (place.base == FramePlace::Base::kThreadPointer && place.bytes != 0 &&
            place.bytes <= kWindowMask) {
            found.push_back({place.variable, thread_pointer + static_cast<uint64_t>(place.offset),
                             place.bytes});
        }
    }
    return found;
}

std::vector<uint32_t> StackFrameVariables::take(uint64_t frame_end) {
    const auto at = owners_.find(frame_end);
    if (at == owners_.end()) {
        return {};
    }
    std::vector<uint32_t> owners = std::move(at->second);
    owners_.erase(at);
    return owners;
}

std::vector<FrameSite> frame_sites(const ShardReader& shard) {
    std::vector<FrameSite> sites;
    for (const RecordView& record : shard.records()) {
        if (record.type() != RecordType::kStackFrame) {
            continue;
        }
        const FrameSite site{record.as<StackFrameRecord>().pc, record.header->flags};
        const bool is_known = std::any_of(sites.begin(), sites.end(), [&](const FrameSite& known) {
            return known.pc == site.pc;
        });
        if (!is_known) {
            sites.push_back(site);
        }
    }
    return sites;
}

}  // namespace numascape
