// SPDX-License-Identifier: Apache-2.0
//
// How many accesses of a group are on each of two pages, if the group crosses a page's end.
//
// The sums of large groups follow their accesses in the description, for each place where the page
// may end if the group's address is a multiple of kSumBytes. So the slow path needs no loop.
#pragma once

#include <cstdint>

#include "access_groups.h"

namespace numascape {

// Of the first and the second page. An access to both pages is in both sums.
struct PageSums {
    uint16_t reads[2];
    uint16_t writes[2];
    uint16_t first[2];  // the number of the first access
};

inline constexpr uint64_t kSumBytes = 8;
inline constexpr uint32_t kMaxSums = 32;

// The number of sums that are kept for a group of this size.
uint32_t kept_sums(uint64_t accesses, uint64_t span);
// Adds them to the description. There must be room for them behind the accesses.
void keep_sums(GroupInfo& group, uint64_t span);
// `boundary`: the distance of the page's end from the group's lowest address.
PageSums page_sums(const GroupInfo& group, uint64_t boundary);

}  // namespace numascape
