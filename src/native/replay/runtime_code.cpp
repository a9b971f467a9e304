// SPDX-License-Identifier: Apache-2.0
#include "runtime_code.h"

#include <algorithm>

namespace numascape {
namespace {

bool is_runtime(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.starts_with("libgomp.so") || name.starts_with("libgomp-") ||
           name.starts_with("libomp.so") || name.starts_with("libomp-") ||
           name.starts_with("libiomp5");
}

// The functions that allocate for the program, such as omp_alloc, are called by the program.
constexpr size_t kOwnFrames = 2;

}  // namespace

void RuntimeCode::load_module(uint64_t start, uint64_t end, std::string_view path) {
    if (is_runtime(path)) {
        modules_.push_back({start, end});
    }
}

void RuntimeCode::unload_module(uint64_t start) {
    std::erase_if(modules_, [start](const Module& module) { return module.start == start; });
}

bool RuntimeCode::contains(uint64_t pc) const {
    return std::any_of(modules_.begin(), modules_.end(), [pc](const Module& module) {
        return pc >= module.start && pc < module.end;
    });
}

bool RuntimeCode::owns(uint64_t stack_id) {
    if (const auto known = owns_.find(stack_id); known != owns_.end()) {
        return known->second;
    }
    const auto stack = call_stacks_.find(stack_id);
    bool own = stack != call_stacks_.end() && stack->second.frames.size() > kOwnFrames;
    for (size_t i = 0; own && i < kOwnFrames; ++i) {
        own = contains(stack->second.frames[i] - 1);
    }
    owns_.emplace(stack_id, own);
    return own;
}

void RuntimeCode::add_sample(uint32_t page, uint32_t phase, uint64_t pc, Accesses accesses) {
    Sums& sums = samples_[page][phase];
    sums.all.reads += accesses.reads;
    sums.all.writes += accesses.writes;
    if (contains(pc)) {
        sums.runtime.reads += accesses.reads;
        sums.runtime.writes += accesses.writes;
    }
}

std::optional<RuntimeCode::Accesses> RuntimeCode::part(uint32_t page, uint32_t phase) const {
    const auto on_page = samples_.find(page);
    if (!is_used() || on_page == samples_.end()) {
        return std::nullopt;
    }
    const auto sums = on_page->second.find(phase);
    if (sums == on_page->second.end()) {
        return std::nullopt;
    }
    const auto& [runtime, all] = sums->second;
    if (all.reads + all.writes <= 0) {
        return std::nullopt;
    }
    const double both = (runtime.reads + runtime.writes) / (all.reads + all.writes);
    return Accesses{all.reads > 0 ? runtime.reads / all.reads : both,
                    all.writes > 0 ? runtime.writes / all.writes : both};
}

void RuntimeCode::keep(bool runtime, std::vector<PageShares::Share>& shares, const Owners& owners) {
    if (is_used()) {
        give(runtime ? 1 : 0, shares, owners);
    }
}

void RuntimeCode::give(double part, std::vector<PageShares::Share>& shares, const Owners& owners) {
    double runtime = 0;
    double all = 0;
    for (const PageShares::Share& share : shares) {
        all += share.weight;
        runtime += owns(owners.stack_id[share.owner]) ? share.weight : 0;
    }
    const double others = all - runtime;
    if (runtime <= 0 || others <= 0) {
        return;
    }
    for (PageShares::Share& share : shares) {
        const bool own = owns(owners.stack_id[share.owner]);
        share.weight *= own ? part * all / runtime : (1 - part) * all / others;
    }
    std::erase_if(shares, [](const PageShares::Share& share) { return share.weight <= 0; });
}

}  // namespace numascape
