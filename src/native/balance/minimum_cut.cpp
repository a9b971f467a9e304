// SPDX-License-Identifier: Apache-2.0
#include "minimum_cut.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace numascape::balance {

void MinimumCut::clear(std::size_t items) {
    items_ = items;
    load_.assign(items, 0.0);
    terminal_.assign(items, 0.0);
    inner_.assign(items, 0);
    on_first_.assign(items, 0);
    connections_.clear();
}

void MinimumCut::item(std::uint32_t i, double load, double more, bool first, std::int32_t inner) {
    load_[i] = load;
    terminal_[i] = more;
    on_first_[i] = first;
    inner_[i] = inner;
}

void MinimumCut::connect(std::uint32_t i, std::uint32_t j, double cost) {
    if (cost > 0.0) connections_.push_back({i, j, cost});
}

void MinimumCut::build() {
    offsets_.assign(items_ + 1, 0);
    for (const Connection& c : connections_) ++offsets_[c.i], ++offsets_[c.j];
    std::exclusive_scan(offsets_.begin(), offsets_.end(), offsets_.begin(), 0U);
    edges_.resize(2 * connections_.size());
    next_.assign(offsets_.begin(), offsets_.end());
    for (const Connection& c : connections_) {
        const std::uint32_t there = next_[c.i]++, back = next_[c.j]++;
        edges_[there] = {c.j, back, c.cost};
        edges_[back] = {c.i, there, c.cost};
    }
}

// The cost of the present division. For an item, only the difference to its cheaper side counts.
double MinimumCut::present_cost() const {
    double cost = 0.0;
    for (std::uint32_t i = 0; i < items_; ++i) {
        if (on_first_[i] == (terminal_[i] < 0.0)) cost += std::abs(terminal_[i]);
    }
    for (const Connection& c : connections_) {
        if (on_first_[c.i] != on_first_[c.j]) cost += c.cost;
    }
    return cost;
}

// Finds the level of items, which is their distance from the source, up to the nearest item that
// can send flow to the sink. Returns whether there is such an item.
bool MinimumCut::label() {
    level_.assign(items_, -1);
    queue_.clear();
    for (std::uint32_t i = 0; i < items_; ++i) {
        if (terminal_[i] > tiny_) level_[i] = 0, queue_.push_back(i);
    }
    std::int32_t reached = std::numeric_limits<std::int32_t>::max();
    for (std::size_t k = 0; k < queue_.size(); ++k) {
        const std::uint32_t i = queue_[k];
        if (level_[i] >= reached) return true;
        if (terminal_[i] < -tiny_) reached = level_[i];
        for (std::uint32_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
            const std::uint32_t j = edges_[e].to;
            if (edges_[e].left > tiny_ && level_[j] < 0)
                level_[j] = level_[i] + 1, queue_.push_back(j);
        }
    }
    return reached < std::numeric_limits<std::int32_t>::max();
}

// Sends flow from this item to the sink, along all paths on which the level grows at each edge.
void MinimumCut::augment(std::uint32_t source) {
    path_.clear();
    std::uint32_t here = source;
    while (true) {
        if (terminal_[here] < -tiny_) {
            double amount = std::min(terminal_[source], -terminal_[here]);
            for (std::uint32_t e : path_) amount = std::min(amount, edges_[e].left);
            for (std::uint32_t e : path_) {
                edges_[e].left -= amount;
                edges_[edges_[e].reverse].left += amount;
            }
            terminal_[source] -= amount;
            terminal_[here] += amount;
            flow_ += amount;
            if (terminal_[source] <= tiny_ || flow_ >= enough_) return;
            // Goes back to the start of the first edge that is full.
            for (std::size_t k = 0; k < path_.size(); ++k) {
                if (edges_[path_[k]].left > tiny_) continue;
                here = edges_[edges_[path_[k]].reverse].to;
                path_.resize(k);
                break;
            }
            continue;
        }
        std::uint32_t& e = next_[here];
        while (e < offsets_[here + 1] &&
               (edges_[e].left <= tiny_ || level_[edges_[e].to] != level_[here] + 1)) {
            ++e;
        }
        if (e < offsets_[here + 1]) {
            path_.push_back(e);
            here = edges_[e].to;
        } else if (path_.empty()) {
            return;
        } else {
            here = edges_[edges_[path_.back()].reverse].to;
            path_.pop_back();
            ++next_[here];
        }
    }
}

// Makes the flow as large as possible, or stops when it is enough.
void MinimumCut::saturate() {
    while (label()) {
        next_.assign(offsets_.begin(), offsets_.end());
        for (std::uint32_t i = 0; i < items_; ++i) {
            if (terminal_[i] > tiny_) augment(i);
            if (flow_ >= enough_) return;
        }
    }
}

// Sends flow from this item to the sink, or from the source to this item. Uses one path after the
// other, until there is none or the flow is enough.
template <bool kSource>
void MinimumCut::augment_from(std::uint32_t from, const Side& side) {
    level_.assign(items_, 0);
    std::int32_t stamp = 0;
    came_.resize(items_);
    while (flow_ < enough_) {
        ++stamp;
        level_[from] = stamp;
        queue_.assign(1, from);
        std::uint32_t end = from;
        bool found = false;
        for (std::size_t k = 0; k < queue_.size() && !found; ++k) {
            const std::uint32_t i = queue_[k];
            if (kSource ? terminal_[i] < -tiny_ : terminal_[i] > tiny_) {
                end = i, found = true;
                break;
            }
            for (std::uint32_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
                const std::uint32_t j = edges_[e].to;
                const std::uint32_t way = kSource ? e : edges_[e].reverse;
                if (level_[j] == stamp || edges_[way].left <= tiny_ || side.in[j]) continue;
                level_[j] = stamp;
                came_[j] = e;
                queue_.push_back(j);
            }
        }
        if (!found) return;
        double amount = std::abs(terminal_[end]);
        const auto each = [&](auto&& visit) {
            for (std::uint32_t i = end; i != from;) {
                const std::uint32_t e = came_[i];
                visit(kSource ? e : edges_[e].reverse);
                i = edges_[edges_[e].reverse].to;
            }
        };
        each([&](std::uint32_t way) { amount = std::min(amount, edges_[way].left); });
        each([&](std::uint32_t way) {
            edges_[way].left -= amount;
            edges_[edges_[way].reverse].left += amount;
        });
        terminal_[end] += kSource ? amount : -amount;
        flow_ += amount;
    }
}

template <bool kSource>
void MinimumCut::reach(Side& side, std::uint32_t from) {
    if (side.in[from]) return;
    side.in[from] = 1;
    side.load += load_[from];
    queue_.assign(1, from);
    for (std::size_t k = 0; k < queue_.size(); ++k) {
        const std::uint32_t i = queue_[k];
        for (std::uint32_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
            const std::uint32_t j = edges_[e].to;
            if (side.in[j]) continue;
            const double left = kSource ? edges_[e].left : edges_[edges_[e].reverse].left;
            if (left <= tiny_) {
                side.border.push_back(j);
                continue;
            }
            side.in[j] = 1;
            side.load += load_[j];
            queue_.push_back(j);
        }
    }
}

template <bool kSource>
void MinimumCut::reach_all(Side& side) {
    side.in.assign(items_, 0);
    side.border.clear();
    side.load = 0.0;
    for (std::uint32_t i = 0; i < items_; ++i) {
        if (kSource ? terminal_[i] > tiny_ : terminal_[i] < -tiny_) reach<kSource>(side, i);
    }
}

// Fixes an item at the border of this side to this side: if possible, an item that needs no more
// flow. Of several items, takes the one that was furthest inside. False if there is no item, or if
// the cut would cost as much as the present division.
template <bool kSource>
bool MinimumCut::pierce(Side& side, Side& other) {
    std::size_t kept = 0;
    std::uint32_t best = 0;
    bool found = false;
    const auto rank = [&](std::uint32_t i) {
        return std::pair(!other.in[i], kSource ? inner_[i] : -inner_[i]);
    };
    for (std::uint32_t i : side.border) {
        if (side.in[i]) continue;
        side.border[kept++] = i;
        if (std::isinf(terminal_[i])) continue;  // fixed to the other side
        if (!found || rank(i) > rank(best)) best = i, found = true;
    }
    side.border.resize(kept);
    if (!found) return false;
    const bool augments = other.in[best];
    if (kSource ? terminal_[best] < 0.0 : terminal_[best] > 0.0) {
        flow_ += std::abs(terminal_[best]);
    }
    terminal_[best] = kSource ? INFINITY : -INFINITY;
    if (augments) {
        augment_from<kSource>(best, side);
        if (flow_ >= enough_) return false;
        reach_all<!kSource>(other);
    }
    reach<kSource>(side, best);
    return true;
}

bool MinimumCut::divide(double least, double most) {
    build();
    const double now = present_cost();
    tiny_ = 1e-12 * now;
    double present = 0.0, all = 0.0;
    for (std::uint32_t i = 0; i < items_; ++i) {
        all += load_[i];
        if (on_first_[i]) present += load_[i];
    }
    least += present, most += present;
    flow_ = 0.0;
    enough_ = now * (1.0 - 1e-9);
    saturate();
    if (flow_ >= enough_) return false;
    reach_all<true>(source_);
    reach_all<false>(sink_);
    while (true) {
        // The load of the first side, for the cut at the source's items and for that at the sink's.
        const double a = source_.load, b = all - sink_.load;
        if (a >= least && a <= most) {
            for (std::uint32_t i = 0; i < items_; ++i) on_first_[i] = source_.in[i];
            return true;
        }
        if (b >= least && b <= most) {
            for (std::uint32_t i = 0; i < items_; ++i) on_first_[i] = !sink_.in[i];
            return true;
        }
        const bool grow_first = b < least || (a <= most && source_.load <= sink_.load);
        if (!(grow_first ? pierce<true>(source_, sink_) : pierce<false>(sink_, source_))) {
            return false;
        }
    }
}

}  // namespace numascape::balance
