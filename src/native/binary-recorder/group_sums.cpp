// SPDX-License-Identifier: Apache-2.0
#include "group_sums.h"

namespace numascape {
namespace {

// Below this number of accesses, adding up takes no longer than the rest of the slow path.
constexpr uint64_t kMinAccesses = 4;

void add(const GroupAccess& access, unsigned page, uint16_t number, PageSums& sums) {
    if (sums.reads[page] + sums.writes[page] == 0) {
        sums.first[page] = number;
    }
    ++(access.write ? sums.writes : sums.reads)[page];
}

PageSums add_up(const GroupInfo& group, uint64_t boundary) {
    PageSums sums{};
    for (uint16_t i = 0; i < group.accesses; ++i) {
        const GroupAccess& access = group.access[i];
        if (access.offset < boundary) {
            add(access, 0, i, sums);
        }
        if (uint64_t{access.offset} + access.bytes > boundary) {
            add(access, 1, i, sums);
        }
    }
    return sums;
}

}  // namespace

uint32_t kept_sums(uint64_t accesses, uint64_t span) {
    const auto places = static_cast<uint32_t>((span - 1) / kSumBytes);
    return accesses >= kMinAccesses && places <= kMaxSums ? places : 0;
}

void keep_sums(GroupInfo& group, uint64_t span) {
    group.sums = static_cast<uint16_t>(kept_sums(group.accesses, span));
    auto* sums = reinterpret_cast<PageSums*>(group.access + group.accesses);
    for (uint32_t i = 0; i < group.sums; ++i) {
        sums[i] = add_up(group, (i + 1) * kSumBytes);
    }
}

PageSums page_sums(const GroupInfo& group, uint64_t boundary) {
    const uint64_t number = boundary / kSumBytes;
    if (boundary % kSumBytes == 0 && number <= group.sums) {
        return reinterpret_cast<const PageSums*>(group.access + group.accesses)[number - 1];
    }
    return add_up(group, boundary);
}

}  // namespace numascape
