// SPDX-License-Identifier: Apache-2.0
#include "first_touches.h"

namespace numascape {

Touch& FirstTouches::at(uint32_t page) {
    auto& granule = granules_[page / kPageCountersPerGranule];
    if (granule == nullptr) {
        granule = std::make_unique<Granule>();
    }
    return (*granule)[page % kPageCountersPerGranule];
}

void FirstTouches::end(WindowPages pages) {
    each(pages, [](uint32_t, Touch& touch) { touch.present = false; });
}

void FirstTouches::forget(WindowPages pages) {
    each(pages, [](uint32_t, Touch& touch) { touch.forgotten = true; });
}

void FirstTouches::emit(const PageOwners::Owned& owned) {
    each(owned.pages, [&](uint32_t page, Touch& touch) {
        if (!touch.of_region) {
            emit(owned.owner, page, touch);
        }
    });
}

void FirstTouches::emit_region(uint32_t owner, WindowPages pages) {
    each(pages, [&](uint32_t page, Touch& touch) {
        if (owners_.regions().at(page) == owner) {
            emit(owner, page, touch);
            touch.of_region = true;
        }
    });
}

void FirstTouches::emit_remaining(WindowPages pages) {
    each(pages, [&](uint32_t page, Touch& touch) {
        const auto owner = owners_.sole(page);
        if (!owner) {
            for (const uint32_t sharer : owners_.sharers(page)) {
                emit(sharer, page, touch);
            }
            return;
        }
        const OwnerKind kind = owners_.kind(*owner);
        const bool around = kind == OwnerKind::kMapping || kind == OwnerKind::kUnknown;
        const bool below = !owners_.is_region(*owner) && touch.of_region;
        if (!(around && touch.attributed) && !below) {
            emit(*owner, page, touch);
        }
    });
}

void FirstTouches::emit(uint32_t owner, uint32_t page, Touch& touch) {
    touch.attributed = true;
    // A variable of a function is there again in its next call.
    const bool recurs = owners_.kind(owner) == OwnerKind::kFrameVariable;
    if (recurs && !of_variables_.insert(uint64_t{owner} << 32 | page).second) {
        return;
    }
    out_.owner.push_back(owner);
    out_.page.push_back(owners_.index_in(owner, page));
    out_.thread.push_back(touch.thread);
    out_.phase.push_back(touch.phase);
    out_.time.push_back(touch.time);
    out_.pc.push_back(touch.pc);
    out_.callers.push_back(touch.callers);
    out_.flags.push_back(touch.flags);
}

}  // namespace numascape
