// SPDX-License-Identifier: Apache-2.0
#include "pending_accesses.h"

#include <algorithm>
#include <bit>

namespace numascape {

void PendingAccesses::add(const SampledAccess& access, uint32_t page) {
    accesses_[page].push_back(access);
}

void PendingAccesses::attribute(WindowPages pages, uint64_t time) {
    auto at = accesses_.lower_bound(pages.first);
    for (; at != accesses_.end() && at->first < pages.end; at = accesses_.erase(at)) {
        for (const SampledAccess& each : at->second) {
            attribute(each, at->first, time);
        }
    }
    attribute_records(pages, time);
}

void PendingAccesses::attribute(const SampledAccess& access, uint32_t page, uint64_t time) {
    const CountPair one{access.writes ? 0U : 1U, access.writes ? 1U : 0U};
    counts_.count(page, {access.thread, access.phase, false}, one, time);
    if ((follows_lines_ || follows_callers_) && access.seen.lines != 0) {
        const auto owner = owner_of(page, PageParts::of(access.seen), access.time,
                                    std::max(time, access.time + 1));
        if (owner && follows_lines_) {
            add_seen_line(access, page, *owner);
        }
        if (owner && follows_callers_) {
            add_path(access, page, *owner);
        }
    }
    if (access.pc != 0) {
        const uint32_t site = sites_.add_access(access.pc, access.phase, access.writes);
        attribute(Sample{site, access.phase, 1, access.time, true}, page, time);
    }
}

void PendingAccesses::add_seen_line(const SampledAccess& access, uint32_t page, uint32_t owner) {
    SampleRecord sample{};
    sample.phase = access.phase;
    sample.weight = 1;
    sample.seen = access.seen;
    seen_lines_.add(owner, owners_.index_in(owner, page), access.thread, sample,
                    {lives_.one_at(access.time), access.writes});
}

void PendingAccesses::add_path(const SampledAccess& access, uint32_t page, uint32_t owner) {
    SampledPathColumns& out = out_.sampled_paths;
    out.owner.push_back(owner);
    out.page.push_back(owners_.index_in(owner, page));
    out.thread.push_back(access.thread);
    out.phase.push_back(access.phase);
    out.line.push_back(static_cast<uint32_t>(std::countr_zero(access.seen.lines)));
    out.callers.push_back(access.callers);
    out.pc.push_back(access.pc);
    out.writes.push_back(access.writes ? 1 : 0);
}

void PendingAccesses::attribute_records(WindowPages pages, uint64_t time) {
    const auto attribute_all = [&](auto& records) {
        auto at = records.lower_bound(pages.first);
        for (; at != records.end() && at->first < pages.end; at = records.erase(at)) {
            for (const auto* record : at->second) {
                attribute(*record, at->first, time);
            }
        }
    };
    attribute_all(samples_);
    attribute_all(transfers_);
    attribute_all(kernel_accesses_);
}

void PendingAccesses::attribute(const SampleRecord& sample, uint32_t page, uint64_t time) {
    const bool whole = (sample.header.flags & kSampleWhole) != 0;
    const auto parts = sample.seen.lines == 0 ? PageParts::every() : PageParts::of(sample.seen);
    attribute(Sample{sample.site, sample.phase, static_cast<double>(sample.weight), sample.time,
                     whole, parts},
              page, time);
    const auto sole = owners_.sole(page);
    if (sole && owners_.kind(*sole) == OwnerKind::kModule && sample.seen.lines != 0) {
        seen_in_modules_.add(*sole, owners_.index_in(*sole, page), sample);
    }
    if (!follows_lines_) {
        return;
    }
    const auto owner = owner_of(page, parts, sample.time, std::max(time, sample.time + 1));
    if (owner) {
        seen_lines_.add(*owner, owners_.index_in(*owner, page), sample.thread, sample,
                        {lives_.one_at(sample.time), sites_.writes(sample.site)});
    }
}

std::optional<uint32_t> PendingAccesses::owner_of(uint32_t page, const PageParts& parts,
                                                  uint64_t since, uint64_t until) {
    if (const auto sole = owners_.sole(page)) {
        return sole;
    }
    std::vector<PageShares::Share> now;
    std::vector<PageShares::Share>* shares = &now;
    if (owners_.has_only_small(page)) {
        shares = &small_shares_[page];
    }
    if (shares == &now) {
        now = owners_then(page, parts, since, until);
    } else if (shares->empty()) {
        *shares = owners_.shares(page, since, until);
    }
    const auto before = [&](const PageShares::Share& one, const PageShares::Share& other) {
        const bool has_one = one.parts.meets(parts);
        const bool has_other = other.parts.meets(parts);
        return has_one != has_other ? has_other : one.weight < other.weight;
    };
    const auto most = std::max_element(shares->begin(), shares->end(), before);
    // What is between the blocks belongs to the allocator.
    const bool owned = most != shares->end() && most->parts.meets(parts);
    return owned ? std::optional(most->owner) : std::nullopt;
}

std::vector<PageShares::Share> PendingAccesses::owners_then(uint32_t page, const PageParts& parts,
                                                            uint64_t since, uint64_t until) const {
    return PageShares::narrow(owners_.shares(page, since, until), parts, since,
                              PageShares::ticks(since, until));
}

void PendingAccesses::attribute(const TransfersRecord& transfers, uint32_t page, uint64_t time) {
    const auto owner =
        owner_of(page, PageParts::every(), transfers.time, std::max(time, transfers.time + 1));
    if (!owner) {
        return;
    }
    TransferColumns& out = out_.transfers;
    out.owner.push_back(*owner);
    out.page.push_back(owners_.index_in(*owner, page));
    out.thread.push_back(transfers.to);
    out.from_thread.push_back(transfers.from);
    out.phase.push_back(transfers.phase);
    out.line.push_back(transfers.line);
    out.from_pc.push_back(transfers.from_pc);
    out.to_pc.push_back(transfers.to_pc);
    out.from_bytes.push_back(transfers.from_bytes);
    out.to_bytes.push_back(transfers.to_bytes);
    out.transfers.push_back(transfers.transfers);
    out.travelling.push_back(transfers.travelling);
    out.judged.push_back(transfers.judged);
    out.shared.push_back(transfers.shared);
}

void PendingAccesses::attribute(const KernelAccessRecord& access, uint32_t page, uint64_t time) {
    const auto parts = access.seen.lines == 0 ? PageParts::every() : PageParts::of(access.seen);
    const auto owner = owner_of(page, parts, access.time, std::max(time, access.time + 1));
    if (!owner) {
        return;
    }
    KernelAccessColumns& out = out_.kernel_accesses;
    out.owner.push_back(*owner);
    out.page.push_back(owners_.index_in(*owner, page));
    out.thread.push_back(access.thread);
    out.phase.push_back(access.phase);
    out.read_bytes.push_back(access.read_bytes / access.pages);
    out.written_bytes.push_back(access.written_bytes / access.pages);
}

void PendingAccesses::attribute(const Sample& sample, uint32_t page, uint64_t time) {
    const auto add = [&](uint32_t of_page, double share) {
        const uint32_t owner = owners_.first_of_call_stack(of_page);
        const bool module = owners_.kind(owner) == OwnerKind::kModule;
        sites_.add_sample(sample.site, sample.phase, owner,
                          module ? owners_.index_in(owner, page) : 0, sample.weight * share,
                          sample.whole && share == 1 ? sample.weight : 0);
    };
    if (const auto owner = owners_.sole(page)) {
        add(*owner, 1);
        return;
    }
    if (owners_.has_only_small(page)) {
        sites_.add_shared(sample.site, sample.phase, group_of(page), sample.weight);
        return;
    }
    const uint64_t until = std::max(time, sample.time + 1);
    auto shares = owners_then(page, sample.parts, sample.time, until);
    if (shares.empty()) {
        shares = owners_.shares(page, sample.time, until);
    }
    double total = 0;
    for (const PageShares::Share& share : shares) {
        total += share.weight;
    }
    for (const PageShares::Share& share : shares) {
        add(share.owner, share.weight / total);
    }
}

uint32_t PendingAccesses::group_of(uint32_t page) {
    const auto [at, fresh] = groups_.try_emplace(page, static_cast<uint32_t>(groups_.size()));
    if (!fresh) {
        return at->second;
    }
    const auto shares = owners_.shares(page, 0, 1);
    double total = 0;
    for (const PageShares::Share& share : shares) {
        total += share.weight;
    }
    for (const PageShares::Share& share : shares) {
        out_.shares.group.push_back(at->second);
        out_.shares.owner.push_back(share.owner);
        out_.shares.share.push_back(share.weight / total);
    }
    return at->second;
}

void PendingAccesses::finish() {
    seen_lines_.finish(out_.seen_lines);
    seen_in_modules_.finish(out_.seen_in_modules);
}

}  // namespace numascape
