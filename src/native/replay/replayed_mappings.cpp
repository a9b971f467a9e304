// SPDX-License-Identifier: Apache-2.0
#include "replayed_mappings.h"

#include "process_maps.h"

namespace numascape {

namespace {

std::string object_name(const MapRecord& mapped) {
    if (mapped.inode == 0) {
        return "";
    }
    const bool segment = (mapped.device & kSegmentOfSystemV) != 0;
    const uint64_t device = mapped.device & ~kSegmentOfSystemV;
    return std::to_string(device >> 32) + ':' + std::to_string(device & 0xffff'ffff) + ':' +
           std::to_string(mapped.inode) + (segment ? " System V" : "");
}

}  // namespace

void ReplayedMappings::map(const RecordView& record) {
    const auto& mapped = record.as<MapRecord>();
    if (mapped.bytes != 0) {
        const auto path = text_of(record.rest<MapRecord>());
        owners_.map(mapped.start, mapped.bytes,
                    owners_.mapping(mapped.stack_id, path, record.header->flags,
                                    object_name(mapped), mapped.start - mapped.offset));
    }
}

void ReplayedMappings::unmap(const RecordView& record) {
    const auto& gone = record.as<UnmapRecord>();
    if (gone.bytes > kWindowMask) {
        owners_.unmap_beyond_window(gone.start, gone.bytes);
        return;
    }
    WindowPages::each_part(gone.start, gone.bytes, [&](uint64_t start, uint64_t bytes) {
        end(WindowPages::of(start, bytes), gone.time);
    });
    end_regions(gone.start, gone.bytes, gone.time);
}

// Must be called after their pages are gone.
void ReplayedMappings::end_regions(uint64_t start, uint64_t bytes, uint64_t time) {
    for (const uint32_t owner : owners_.regions().within(start, bytes)) {
        owners_.end_region(owner, time);
    }
}

void ReplayedMappings::end(WindowPages pages, uint64_t time) {
    if (pages.first == pages.end) {
        return;
    }
    touches_.emit_remaining(pages);
    pending_.attribute(pages, time);
    touches_.end(pages);
    if (keeps_ends_) {
        ended_.assign(pages.first, pages.end, static_cast<uint32_t>(end_times_.size()));
        end_times_.push_back(time);
    }
    owners_.unmap(pages);
}

bool ReplayedMappings::ended_after(uint32_t page, uint64_t time) const {
    const auto ended = ended_.find(page);
    return ended && end_times_[*ended] > time;
}

void ReplayedMappings::forget(const RecordView& record) {
    const auto& gone = record.as<ForgetRecord>();
    const bool private_only = (record.header->flags & kForgetPrivate) != 0;
    if (gone.bytes > kWindowMask) {
        return;
    }
    WindowPages::each_part(gone.start, gone.bytes, [&](uint64_t start, uint64_t bytes) {
        touches_.each(WindowPages::of(start, bytes), [&](uint32_t page, Touch& touch) {
            touch.forgotten =
                touch.forgotten || !private_only || !owners_.is_of_shared_mapping(page);
        });
    });
}

void ReplayedMappings::advise(const RecordView& record) {
    const auto& advice = record.as<AdviceRecord>();
    if (advice.bytes > kWindowMask) {
        return;
    }
    const bool huge = (record.header->flags & kAdviceHuge) != 0;
    WindowPages::each_part(advice.start, advice.bytes, [&](uint64_t start, uint64_t bytes) {
        owners_.advise(WindowPages::of(start, bytes), huge);
    });
}

void ReplayedMappings::move(const RecordView& record) {
    const auto& move = record.as<MoveRecord>();
    const uint8_t flags = record.header->flags;
    if (move.bytes == 0 || move.bytes > kWindowMask || move.from_bytes > kWindowMask) {
        return;
    }
    if (move.from != move.start) {
        return (flags & kMoveArrives) != 0 ? arrive(move) : leave(move, flags);
    }
    if (move.bytes > move.from_bytes && !owners_.lengthen(move.start, move.bytes)) {
        owners_.map(move.start + move.from_bytes, move.bytes - move.from_bytes,
                    owners_.mapping(move.stack_id, "", 0));
    }
}

void ReplayedMappings::leave(const MoveRecord& move, uint8_t flags) {
    const bool same = (flags & kMoveLeavesSame) != 0;
    const auto pages = WindowPages::of(move.from, same ? move.bytes : move.from_bytes);
    Moving& moving = moving_[{move.begun, move.from}];
    moving.mapping = owners_.mapping_at(pages.first);
    touches_.each(pages, [&](uint32_t page, const Touch& touch) {
        moving.touches.emplace_back(page - pages.first, touch);
    });
    if ((flags & kMoveLeavesEmpty) != 0) {
        pending_.attribute(pages, move.time);
        touches_.forget(pages);
    } else if (!same) {
        end(pages, move.time);
        end_regions(move.from, move.from_bytes, move.time);
    }
}

// The pages are another instance of their former structure.
void ReplayedMappings::arrive(const MoveRecord& move) {
    const auto left = moving_.extract({move.begun, move.from});
    const Moving moving = left.empty() ? Moving{} : left.mapped();
    auto mapping = moving.mapping.value_or(owners_.mapping(move.stack_id, "", 0));
    mapping.object_start += move.start - move.from;
    owners_.map(move.start, move.bytes, mapping);
    const auto pages = WindowPages::of(move.start, move.bytes);
    for (auto [page, touch] : moving.touches) {
        if (page < pages.end - pages.first) {
            touch.attributed = false;
            touches_.at(pages.first + page) = touch;
        }
    }
}

}  // namespace numascape
