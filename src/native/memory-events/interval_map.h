// SPDX-License-Identifier: Apache-2.0
//
// An ordered map from disjoint ranges of addresses to values, for code that runs inside the
// recorded program. It uses no C library and no heap; its memory is sparse.
//
// An inserted range replaces all ranges that it overlaps: the kernel has just assigned these
// addresses, so older information about them is obsolete. Ranges that a system call may end are
// taken out before the call. If the call succeeds they are dropped; if it fails they are put back.
// So if another thread gets the same addresses in between, the late end of the old range does not
// remove its new range.
//
// The map is a treap: a search tree by address, and a heap by random priorities, which keep the
// tree balanced.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "os.h"
#include "spin_lock.h"

namespace numascape {

template <typename Value>
class IntervalMap {
  public:
    struct Interval {
        uint64_t start;
        uint64_t end;  // exclusive
        Value value;
    };
    // Ranges that were taken out.
    struct Taken {
        uint32_t root = 0;
        bool empty() const { return root == 0; }
    };

    // False when there are too many ranges. `start` < `end`.
    bool insert(uint64_t start, uint64_t end, const Value& value) {
        SpinGuard guard(lock_);
        return add(start, end, value);
    }

    // The range that holds the address.
    bool find(uint64_t address, Interval& found) {
        SpinGuard guard(lock_);
        uint32_t at = root_;
        while (at != 0) {
            const Node& node = nodes_[at];
            if (address < node.interval.start) {
                at = node.left;
            } else if (address >= node.interval.end) {
                at = node.right;
            } else {
                found = node.interval;
                return true;
            }
        }
        return false;
    }

    // `visit(Interval&)` for each range that has a part in [start, end).
    template <typename Visit>
    void each_in(uint64_t start, uint64_t end, Visit visit) {
        if (any()) {
            SpinGuard guard(lock_);
            each_in(root_, start, end, visit);
        }
    }

    // Takes out the ranges in [start, end). Ranges that extend beyond are split; each part keeps
    // the value.
    Taken take(uint64_t start, uint64_t end) {
        if (!any()) {
            return {};
        }
        SpinGuard guard(lock_);
        return {cut(start, end)};
    }
    // `visit(Interval&)` for each range that was taken out.
    template <typename Visit>
    void each(Taken taken, Visit visit) {
        each_in(taken.root, 0, ~uint64_t{0}, visit);
    }

    // Puts them back, `shift` bytes further on.
    void reinsert(Taken taken, uint64_t shift = 0) {
        if (!taken.empty()) {
            SpinGuard guard(lock_);
            reinsert(taken.root, shift);
        }
    }

    void drop(Taken taken) {
        if (!taken.empty()) {
            SpinGuard guard(lock_);
            release(taken.root);
        }
    }

    // Whether anything was ever inserted.
    bool any() const { return used_.load(std::memory_order_relaxed) > 1; }

    // Calls `visit(Interval&)` for all intervals, including those that are taken out. It takes no
    // lock, because it also runs in signal handlers: it may miss changes that other threads make at
    // the same time.
    template <typename Visit>
    void for_each(Visit visit) {
        const uint32_t used = used_.load(std::memory_order_acquire);
        for (uint32_t at = 1; at < used; ++at) {
            if (nodes_[at].interval.end != 0) {
                visit(nodes_[at].interval);
            }
        }
    }

    // Called around a fork, so that no other thread is in the middle of a change.
    void lock() { lock_.lock(); }
    void unlock() { lock_.unlock(); }
    // For the child of a fork, if the lock was not taken before.
    void reset_lock() { lock_.reset(); }
    // Gives the memory back. Nothing may use the map any more.
    void close() {
        if (nodes_ != nullptr) {
            os::unmap(nodes_, kMaxNodes * sizeof(Node));
            nodes_ = nullptr;
        }
    }

  private:
    struct Node {
        Interval interval;  // its end is 0 while the node is free
        uint32_t left;      // of a free node, the next free one
        uint32_t right;
        uint32_t priority;
    };
    // A process may have 65530 mappings (vm.max_map_count) unless its administrator allows more.
    static constexpr uint32_t kMaxNodes = 1u << 18;

    uint32_t new_node(uint64_t start, uint64_t end, const Value& value) {
        if (nodes_ == nullptr) {
            void* memory = os::map_sparse(kMaxNodes * sizeof(Node));
            if (os::failed(memory)) {
                return 0;
            }
            nodes_ = static_cast<Node*>(memory);
        }
        uint32_t at = free_;
        if (at != 0) {
            free_ = nodes_[at].left;
        } else if ((at = used_.load(std::memory_order_relaxed)) == kMaxNodes) {
            return 0;
        }
        random_ ^= random_ << 13;
        random_ ^= random_ >> 17;
        random_ ^= random_ << 5;
        nodes_[at] = {{start, end, value}, 0, 0, random_};
        if (at == used_.load(std::memory_order_relaxed)) {
            used_.store(at + 1, std::memory_order_release);
        }
        return at;
    }

    void release(uint32_t at) {
        if (at == 0) {
            return;
        }
        release(nodes_[at].left);
        release(nodes_[at].right);
        nodes_[at].interval.end = 0;
        nodes_[at].left = free_;
        free_ = at;
    }

    bool add(uint64_t start, uint64_t end, const Value& value) {
        release(cut(start, end));
        const uint32_t node = new_node(start, end, value);
        link(node);
        return node != 0;
    }

    // The node's place must be free.
    void link(uint32_t node) {
        if (node != 0) {
            uint32_t below = 0;
            uint32_t above = 0;
            split(root_, nodes_[node].interval.start, below, above);
            root_ = merge(merge(below, node), above);
        }
    }

    void reinsert(uint32_t at, uint64_t shift) {
        if (at == 0) {
            return;
        }
        const uint32_t left = nodes_[at].left;
        const uint32_t right = nodes_[at].right;
        Interval& interval = nodes_[at].interval;
        interval.start += shift;
        interval.end += shift;
        nodes_[at].left = nodes_[at].right = 0;
        release(cut(interval.start, interval.end));
        link(at);
        reinsert(left, shift);
        reinsert(right, shift);
    }

    // Takes the nodes in [start, end) out of the tree, and returns their root.
    uint32_t cut(uint64_t start, uint64_t end) {
        uint32_t below = 0;
        uint32_t inside = 0;
        uint32_t above = 0;
        split(root_, start, below, inside);
        if (const uint32_t part = divide(last(below), start)) {
            inside = merge(part, inside);
        }
        split(inside, end, inside, above);
        if (const uint32_t part = divide(last(inside), end)) {
            above = merge(part, above);
        }
        root_ = merge(below, above);
        return inside;
    }

    // Ends the range at `address`. The rest becomes a new node, which is returned. 0 if the range
    // ends before.
    uint32_t divide(uint32_t at, uint64_t address) {
        if (at == 0 || nodes_[at].interval.end <= address) {
            return 0;
        }
        const uint64_t end = nodes_[at].interval.end;
        nodes_[at].interval.end = address;
        return new_node(address, end, nodes_[at].interval.value);
    }

    uint32_t last(uint32_t at) const {
        while (at != 0 && nodes_[at].right != 0) {
            at = nodes_[at].right;
        }
        return at;
    }

    // Splits a tree into the ranges that begin before `address`, and the others.
    void split(uint32_t at, uint64_t address, uint32_t& below, uint32_t& above) {
        if (at == 0) {
            below = above = 0;
        } else if (nodes_[at].interval.start < address) {
            uint32_t rest = 0;
            split(nodes_[at].right, address, rest, above);
            nodes_[at].right = rest;
            below = at;
        } else {
            uint32_t rest = 0;
            split(nodes_[at].left, address, below, rest);
            nodes_[at].left = rest;
            above = at;
        }
    }

    uint32_t merge(uint32_t below, uint32_t above) {
        if (below == 0 || above == 0) {
            return below != 0 ? below : above;
        }
        if (nodes_[below].priority > nodes_[above].priority) {
            nodes_[below].right = merge(nodes_[below].right, above);
            return below;
        }
        nodes_[above].left = merge(below, nodes_[above].left);
        return above;
    }

    template <typename Visit>
    void each_in(uint32_t at, uint64_t start, uint64_t end, Visit& visit) {
        if (at == 0) {
            return;
        }
        Interval& interval = nodes_[at].interval;
        if (interval.start > start) {
            each_in(nodes_[at].left, start, end, visit);
        }
        if (interval.start < end && interval.end > start) {
            visit(interval);
        }
        if (interval.start < end) {
            each_in(nodes_[at].right, start, end, visit);
        }
    }

    SpinLock lock_;
    Node* nodes_ = nullptr;  // node 0 is none
    std::atomic<uint32_t> used_{1};
    uint32_t root_ = 0;
    uint32_t free_ = 0;
    uint32_t random_ = 0x9e3779b9;
};

}  // namespace numascape
