// SPDX-License-Identifier: Apache-2.0
#include "site_counts.h"

#include <algorithm>
#include <cstring>

namespace numascape {

void SiteCounts::describe(const RecordView& block) {
    const auto rest = block.rest<BlockRecord>();
    std::vector<BlockAccess> accesses(block.as<BlockRecord>().accesses);
    std::memcpy(accesses.data(), rest.data(), accesses.size() * sizeof(BlockAccess));
    blocks_.insert_or_assign(block.header->id, std::move(accesses));
    if (block.as<BlockRecord>().instructions != 0) {
        instructions_.insert_or_assign(block.header->id, block.as<BlockRecord>().instructions);
    }
}

uint64_t SiteCounts::instructions(uint64_t number, const uint64_t (&words)[2]) const {
    const auto of_block = instructions_.find(static_cast<uint32_t>(number));
    return of_block == instructions_.end()
               ? 0
               : of_block->second * BlockCounter{words[0], words[1]}.executions();
}

void SiteCounts::add_counter(uint64_t number, uint32_t phase, const uint64_t (&words)[2]) {
    Sums& sums = counters_[phase][number];
    sums.executions += BlockCounter{words[0], words[1]}.executions();
    sums.own.reads += words[0];
    sums.own.writes += words[1];
}

void SiteCounts::add_sample(uint32_t site, uint32_t phase, uint32_t owner, uint32_t page,
                            double weight, double whole) {
    samples_.add({site, phase, owner, page}, {weight, whole});
}

void SiteCounts::add_shared(uint32_t site, uint32_t phase, uint32_t group, double weight) {
    shared_.add({site, phase, group}, weight);
}

uint32_t SiteCounts::add_access(uint64_t pc, uint32_t phase, bool is_write) {
    const auto [at, fresh] =
        sampled_.try_emplace(pc, Sampled{static_cast<uint32_t>(sampled_.size()), {}});
    CountPair& counts = at->second.counts[phase];
    ++(is_write ? counts.writes : counts.reads);
    return at->second.site;
}

bool SiteCounts::writes(uint32_t site) const {
    const auto block = blocks_.find(site >> kPlaceBits);
    const uint32_t place = site & ((1u << kPlaceBits) - 1);
    return block != blocks_.end() &&
           std::any_of(block->second.begin(), block->second.end(), [&](const BlockAccess& access) {
               return access.place == place && access.writes != 0;
           });
}

SiteCounts::Sums SiteCounts::sums(uint32_t number, uint32_t phase) const {
    const auto& of_phase = counters_.at(phase);
    const auto at = of_phase.find(number);
    return at == of_phase.end() ? Sums{} : at->second;
}

void SiteCounts::finish(SiteColumns& sites, SampleColumns& samples, SharedSampleColumns& shared) {
    for (const auto& [block, accesses] : blocks_) {
        for (const auto& [phase, unused] : counters_) {
            const uint64_t executions = sums(block, phase).executions;
            for (const BlockAccess& access : accesses) {
                OwnCounter counts{executions * access.reads, executions * access.writes};
                if (access.own_counter != 0) {
                    const OwnCounter own = sums(block + access.own_counter, phase).own;
                    counts = {access.reads != 0 ? own.reads : 0,
                              access.writes != 0 ? own.writes : 0};
                }
                if (counts.reads != 0 || counts.writes != 0) {
                    sites.site.push_back(block << kPlaceBits | access.place);
                    sites.phase.push_back(phase);
                    sites.pc.push_back(access.pc);
                    sites.reads.push_back(counts.reads);
                    sites.writes.push_back(counts.writes);
                    sites.executions.push_back(access.own_counter != 0 ? 0 : executions);
                }
            }
        }
    }
    for (const auto& [pc, sampled] : sampled_) {
        for (const auto& [phase, counts] : sampled.counts) {
            sites.site.push_back(sampled.site);
            sites.phase.push_back(phase);
            sites.pc.push_back(pc);
            sites.reads.push_back(counts.reads);
            sites.writes.push_back(counts.writes);
            sites.executions.push_back(counts.reads + counts.writes);
        }
    }
    samples.reserve(samples_.size());
    samples_.take([&](const Sample& sample, const Weights& weights) {
        samples.site.push_back(sample.site);
        samples.phase.push_back(sample.phase);
        samples.owner.push_back(sample.owner);
        samples.page.push_back(sample.page);
        samples.weight.push_back(weights.all);
        samples.whole.push_back(weights.whole);
    });
    shared.reserve(shared_.size());
    shared_.take([&](const SharedSample& sample, double weight) {
        shared.site.push_back(sample.site);
        shared.phase.push_back(sample.phase);
        shared.group.push_back(sample.group);
        shared.weight.push_back(weight);
    });
}

}  // namespace numascape
