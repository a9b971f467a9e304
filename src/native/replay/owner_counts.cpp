// SPDX-License-Identifier: Apache-2.0
#include "owner_counts.h"

#include <algorithm>
#include <utility>

namespace numascape {

void OwnerCounts::count(uint32_t page, Counter by, CountPair counts, uint64_t time) {
    if (const auto owner = owners_.sole(page)) {
        add(*owner, page, by, counts);
    } else {
        divide(page, by, counts, shares(page, by, time));
    }
    if (!by.of_lines && owners_.is_ambiguous(page)) {
        out_.ambiguous_pages += 1;
    }
}

std::vector<PageShares::Share> OwnerCounts::shares(uint32_t page, Counter by, uint64_t until) {
    const uint32_t thread = by.thread;
    const uint64_t since = threads_.start_of(thread);
    const auto now = [&] {
        return seen_.as_seen(page, thread, owners_.shares(page, since, until), since, until);
    };
    if (!owners_.has_ends_of_blocks(page)) {
        return now();
    }
    Divided& last = divided_[uint64_t{page} << 32 | thread];
    if (last.shares.empty() || last.until != until) {
        last = {until, now()};
    }
    const SeenOnPages::PhaseOnPage use{page, thread, by.phase};
    if (!seen_.tells(use)) {
        return last.shares;
    }
    auto shares = owners_.shares(page, since, until);
    if (shares.size() != last.shares.size()) {  // in a damaged shard: an owner came since
        last.shares = now();
    }
    return seen_.in_phase(use, std::move(shares), last.shares, since, until);
}

void OwnerCounts::add(uint32_t owner, uint32_t page, Counter by, CountPair counts) {
    if (counts.reads == 0 && counts.writes == 0) {
        return;
    }
    out_.counts.owner.push_back(owner);
    out_.counts.page.push_back(owners_.index_in(owner, page));
    out_.counts.thread.push_back(by.thread);
    out_.counts.phase.push_back(by.phase);
    out_.counts.reads.push_back(by.of_lines ? 0 : counts.reads);
    out_.counts.writes.push_back(by.of_lines ? 0 : counts.writes);
    out_.counts.fetched_lines.push_back(by.of_lines ? counts.reads : 0);
    out_.counts.dirtied_lines.push_back(by.of_lines ? counts.writes : 0);
}

// Integer parts by cumulative rounding: the parts add up to the whole.
void OwnerCounts::divide(uint32_t page, Counter by, CountPair counts,
                         const std::vector<PageShares::Share>& shares) {
    double total = 0;
    for (const PageShares::Share& share : shares) {
        total += share.weight;
    }
    if (shares.size() > 1 && !by.of_lines) {
        out_.shared_page_accesses += counts.reads + counts.writes;
    }
    const auto part = [](uint64_t whole, double fraction) {
        return std::min(whole, static_cast<uint64_t>(static_cast<double>(whole) * fraction));
    };
    double so_far = 0;
    CountPair given{0, 0};
    for (size_t i = 0; i < shares.size(); ++i) {
        so_far += shares[i].weight;
        CountPair upto{part(counts.reads, so_far / total), part(counts.writes, so_far / total)};
        if (i + 1 == shares.size()) {
            upto = counts;
        }
        add(shares[i].owner, page, by, {upto.reads - given.reads, upto.writes - given.writes});
        given = upto;
    }
}

}  // namespace numascape
