// SPDX-License-Identifier: Apache-2.0
#include "policies.h"

#include <linux/mempolicy.h>

#include "os.h"

namespace numascape::placer {
namespace {

#ifndef MPOL_PREFERRED_MANY
#define MPOL_PREFERRED_MANY 5
#endif

constexpr std::uint32_t kWordBits = 64;

struct NodeMask {
    std::uint64_t words[kMaxNodes / kWordBits] = {};

    void add(std::uint32_t node) {
        words[node / kWordBits] |= std::uint64_t{1} << node % kWordBits;
    }
    bool has(std::uint32_t node) const {
        return node < kMaxNodes && (words[node / kWordBits] >> node % kWordBits & 1) != 0;
    }
};

bool set_policy(std::uint64_t first, std::uint64_t end, int mode, const NodeMask& nodes,
                bool moves) {
    // mbind reads one bit less than its argument says (mbind(2), "maxnode").
    return os::call(SYS_mbind, static_cast<long>(first), static_cast<long>(end - first), mode,
                    reinterpret_cast<long>(nodes.words), kMaxNodes + 1,
                    moves ? MPOL_MF_MOVE : 0) == 0;
}

// `visit(first, end, nodes, count)` for each run of pages that one policy holds for.
template <typename Visit>
void for_each_part(const Plan& plan, const Rule& rule, const Placed& placed, Visit visit) {
    const std::uint32_t* nodes = plan.nodes(rule);
    const double* posts = plan.posts(rule);
    std::uint64_t from = placed.first;
    for (std::uint32_t k = 0; k < rule.node_count; ++k) {
        std::uint64_t until = placed.end;
        if (k + 1 < rule.node_count) {
            // The page boundary that is nearest to the post.
            const double share = posts[k + 1] > 0 && posts[k + 1] < 1 ? posts[k + 1] : 1;
            const auto bytes =
                static_cast<std::uint64_t>(share * static_cast<double>(placed.bytes));
            until = page_down(placed.address + bytes + kPageBytes / 2);
            until = until < from ? from : until > placed.end ? placed.end : until;
        }
        if (until > from) visit(from, until, nodes + k, 1u);
        from = until;
    }
}

// The weighted interleaving of the kernel uses weights of the whole system. The pages are therefore
// assigned to nodes here, in runs that are long enough to limit the number of ranges: each range is
// a mapping for the kernel, and a process may have 65530.
constexpr std::uint64_t kMaxRanges = 1024;

// The node that is furthest behind its share gets the next pages. Any number of first pages is
// therefore divided by the weights, with an error of at most one turn.
template <typename Visit>
void for_each_deal(const Plan& plan, const Rule& rule, const Placed& placed, Visit visit) {
    const std::uint32_t* nodes = plan.nodes(rule);
    const std::uint32_t* weights = plan.weights(rule);
    const std::uint32_t count = rule.node_count < kMaxNodes ? rule.node_count : kMaxNodes;
    std::int64_t behind[kMaxNodes] = {};
    const std::uint64_t pages = (placed.end - placed.first) / kPageBytes;
    const std::uint64_t at_once = (pages + kMaxRanges - 1) / kMaxRanges * kPageBytes;
    for (std::uint64_t from = placed.first; from < placed.end; from += at_once) {
        std::uint32_t chosen = 0;
        std::int64_t total = 0;
        for (std::uint32_t k = 0; k < count; ++k) {
            behind[k] += weights[k];
            total += weights[k];
            if (behind[k] > behind[chosen]) chosen = k;
        }
        behind[chosen] -= total;
        const std::uint64_t until = from + at_once;
        visit(from, until < placed.end ? until : placed.end, nodes + chosen, 1u);
    }
}

template <typename Visit>
void for_each_range(const Plan& plan, const Placed& placed, Visit visit) {
    const Rule& rule = plan.rule(placed.rule);
    if (placed.first >= placed.end) return;
    switch (rule.policy) {
        case Policy::kFirstTouch:
            return;
        case Policy::kParts:
            return for_each_part(plan, rule, placed, visit);
        case Policy::kWeightedInterleave:
            return for_each_deal(plan, rule, placed, visit);
        default:
            visit(placed.first, placed.end, plan.nodes(rule), rule.node_count);
    }
}

int mode_of(const Rule& rule, std::uint32_t nodes) {
    switch (rule.policy) {
        case Policy::kInterleave:
            return MPOL_INTERLEAVE;
        case Policy::kBind:
            return MPOL_BIND;
        default:
            return nodes == 1 ? MPOL_PREFERRED : MPOL_PREFERRED_MANY;
    }
}

NodeMask mask_of(const std::uint32_t* nodes, std::uint32_t count) {
    NodeMask mask;
    for (std::uint32_t k = 0; k < count; ++k) mask.add(nodes[k]);
    return mask;
}

}  // namespace

std::uint32_t place(const Plan& plan, const Placed& placed, bool moves) {
    std::uint32_t refused = 0;
    const Rule& rule = plan.rule(placed.rule);
    for_each_range(plan, placed,
                   [&](std::uint64_t first, std::uint64_t end, const std::uint32_t* nodes,
                       std::uint32_t nodes_in_range) {
                       const NodeMask mask = mask_of(nodes, nodes_in_range);
                       const int mode = mode_of(rule, nodes_in_range);
                       if (set_policy(first, end, mode, mask, moves)) return;
                       // Linux before 5.15 prefers one node only.
                       const bool is_placed =
                           mode == MPOL_PREFERRED_MANY &&
                           set_policy(first, end, MPOL_PREFERRED, mask_of(nodes, 1), moves);
                       if (!is_placed) ++refused;
                   });
    return refused;
}

std::uint32_t range_count(const Plan& plan, const Placed& placed) {
    const Rule& rule = plan.rule(placed.rule);
    const std::uint64_t pages = (placed.end - placed.first) / kPageBytes;
    const std::uint64_t most = rule.policy == Policy::kWeightedInterleave ? kMaxRanges
                               : rule.policy == Policy::kParts            ? rule.node_count
                                                                          : 1;
    return static_cast<std::uint32_t>(pages < most ? pages : most);
}

void count(const Plan& plan, const Placed& placed, RuleReport& report, std::uint64_t* by_node) {
    constexpr std::uint64_t kBatch = 512;
    void* pages[kBatch];
    int nodes[kBatch];
    for_each_range(plan, placed,
                   [&](std::uint64_t first, std::uint64_t end, const std::uint32_t* planned,
                       std::uint32_t planned_count) {
                       const NodeMask mask = mask_of(planned, planned_count);
                       while (first < end) {
                           std::uint64_t batch = 0;
                           for (; batch < kBatch && first < end; first += kPageBytes) {
                               pages[batch++] = reinterpret_cast<void*>(first);
                           }
                           if (os::query_nodes(pages, batch, nodes) < 0) return;
                           for (std::uint64_t i = 0; i < batch; ++i) {
                               if (nodes[i] < 0) {
                                   ++report.untouched;
                                   continue;
                               }
                               const auto node = static_cast<std::uint32_t>(nodes[i]);
                               ++(mask.has(node) ? report.right : report.elsewhere);
                               if (node < plan.header().nodes) ++by_node[node];
                           }
                       }
                   });
}

}  // namespace numascape::placer
