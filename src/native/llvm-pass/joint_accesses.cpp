// SPDX-License-Identifier: Apache-2.0
#include "joint_accesses.h"

#include <algorithm>

#include "abi.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

namespace numascape::pass {
namespace {

using namespace llvm;

struct Member {
    int64_t offset;  // bytes from the cluster's first
    size_t index;
};
using Members = SmallVector<Member>;

// Whether the access cannot be in a group: it is a range, or not exactly one access per execution.
bool stands_alone(const Access& access) {
    return access.length != nullptr || access.reads + access.writes != 1;
}

// Groups accesses of one kind whose addresses have constant distances.
class Clusters {
  public:
    explicit Clusters(ScalarEvolution& evolution) : evolution_(evolution) {}

    // `fits` says whether it may share a cluster with other members. `before` is the place where it
    // is counted, if that matters.
    void add(size_t index, const Access& access, const SCEV* address, const Instruction* before,
             function_ref<bool(ArrayRef<Member>)> fits, bool distinct) {
        auto& known = clusters_[{{evolution_.getPointerBase(address), before}, access.writes}];
        for (Cluster& cluster : MutableArrayRef(known).take_back(kMaxCompared)) {
            const auto* offset =
                fits(cluster.members)
                    ? dyn_cast<SCEVConstant>(evolution_.getMinusSCEV(address, cluster.address))
                    : nullptr;
            if (offset == nullptr) {
                continue;
            }
            const int64_t bytes = offset->getAPInt().getSExtValue();
            const auto same = [&](const Member& member) { return member.offset == bytes; };
            if (!distinct || llvm::none_of(cluster.members, same)) {
                cluster.members.push_back({bytes, index});
                return;
            }
        }
        known.push_back({address, {{0, index}}});
    }

    // Returns the clusters, each in the order of the addresses.
    SmallVector<Members> take() {
        SmallVector<Members> out;
        for (auto& [key, of_base] : clusters_) {
            for (Cluster& cluster : of_base) {
                llvm::stable_sort(cluster.members, [](const Member& a, const Member& b) {
                    return a.offset < b.offset;
                });
                out.push_back(std::move(cluster.members));
            }
        }
        return out;
    }

  private:
    static constexpr size_t kMaxCompared = 8;
    struct Cluster {
        const SCEV* address;
        Members members;
    };
    using Key = std::pair<std::pair<const SCEV*, const Instruction*>, uint16_t>;

    ScalarEvolution& evolution_;
    MapVector<Key, SmallVector<Cluster, 2>> clusters_;
};

bool same_executions(const Nest& a, const Nest& b) {
    const auto same_dimension = [](const Dimension& x, const Dimension& y) {
        return x.step == y.step && x.count == y.count;
    };
    const auto same_condition = [](const Nest::Condition& x, const Nest::Condition& y) {
        return x.predicate == y.predicate && x.left == y.left && x.right == y.right;
    };
    return a.before == b.before && llvm::equal(a.dimensions, b.dimensions, same_dimension) &&
           llvm::equal(a.conditions, b.conditions, same_condition);
}

// How many of the `count` rows at this distance should be counted together: each has one address,
// or all are within one step of each other. 0 or 1: none.
size_t joinable(const Nest& nest, uint64_t distance, size_t count) {
    if (distance == 0 || distance > kWidestNeighbours || nest.dimensions.size() == kMaxDimensions) {
        return 0;
    }
    count = std::min(count, kMaxNeighbours);
    if (llvm::all_of(nest.dimensions, [](const Dimension& each) { return each.step->isZero(); })) {
        return count;
    }
    const auto* step = dyn_cast<SCEVConstant>(nest.dimensions.front().step);
    const uint64_t bytes = step != nullptr ? step->getAPInt().abs().getZExtValue() : 0;
    return bytes < kStridedBytes ? std::min(count, bytes / distance) : 0;
}

}  // namespace

SmallVector<Announced> join_nests(ArrayRef<std::pair<Access, Nest>> nests,
                                  ScalarEvolution& evolution) {
    SmallVector<Announced> out;
    Clusters clusters(evolution);
    for (size_t i = 0; i < nests.size(); ++i) {
        const auto& [access, nest] = nests[i];
        if (stands_alone(access)) {
            out.push_back({{access}, nest, 0});
            continue;
        }
        const auto fits = [&, &nest = nest](ArrayRef<Member> members) {
            return same_executions(nests[members.front().index].second, nest);
        };
        clusters.add(i, access, nest.start, nest.before, fits, true);
    }
    for (const Members& cluster : clusters.take()) {
        ArrayRef<Member> left = cluster;
        while (!left.empty()) {  // takes as many as have equal distances
            const Nest& nest = nests[left.front().index].second;
            const auto distance_to = [&](size_t i) {
                return static_cast<uint64_t>(left[i].offset - left[i - 1].offset);
            };
            const uint64_t distance = left.size() > 1 ? distance_to(1) : 0;
            size_t count = 1;
            while (count < left.size() && distance_to(count) == distance) {
                ++count;
            }
            count = std::max<size_t>(joinable(nest, distance, count), 1);
            Announced joined{{}, nest, count > 1 ? distance : 0};
            for (const Member& member : left.take_front(count)) {
                joined.accesses.push_back(nests[member.index].first);
            }
            out.push_back(joined);
            left = left.drop_front(count);
        }
    }
    return out;
}

SmallVector<Neighbours> find_neighbours(SmallVectorImpl<Access>& accesses,
                                        ScalarEvolution& evolution) {
    Clusters clusters(evolution);
    for (size_t i = 0; i < accesses.size(); ++i) {
        if (!stands_alone(accesses[i])) {
            const SCEV* address = evolution.getSCEV(accesses[i].pointer);
            const auto fits = [](ArrayRef<Member>) { return true; };
            clusters.add(i, accesses[i], address, nullptr, fits, false);
        }
    }
    SmallVector<Neighbours> out;
    SmallVector<Access> sorted;
    SmallVector<bool> taken(accesses.size(), false);
    const auto take = [&](ArrayRef<Member> members) {
        if (members.size() < kFewestNeighbours) {
            return;
        }
        const Member& first = *llvm::min_element(
            members, [](const Member& a, const Member& b) { return a.index < b.index; });
        const int64_t lowest = members.front().offset;
        Neighbours found{sorted.size(),
                         {},
                         accesses[first.index].instruction,
                         accesses[first.index].pointer,
                         static_cast<uint64_t>(first.offset - lowest)};
        for (const Member& member : members) {
            found.offsets.push_back(static_cast<uint64_t>(member.offset - lowest));
            sorted.push_back(accesses[member.index]);
            taken[member.index] = true;
        }
        out.push_back(found);
    };
    for (const Members& cluster : clusters.take()) {
        size_t begin = 0;
        for (size_t end = 1; end <= cluster.size(); ++end) {
            if (end == cluster.size() || end - begin == kMaxNeighbours ||
                static_cast<uint64_t>(cluster[end].offset) -
                        static_cast<uint64_t>(cluster[begin].offset) >
                    kWidestNeighbours) {
                take(ArrayRef(cluster).slice(begin, end - begin));
                begin = end;
            }
        }
    }
    for (size_t i = 0; i < accesses.size(); ++i) {
        if (!taken[i]) {
            sorted.push_back(accesses[i]);
        }
    }
    accesses.assign(sorted.begin(), sorted.end());
    return out;
}

}  // namespace numascape::pass
