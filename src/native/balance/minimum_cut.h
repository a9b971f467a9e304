// SPDX-License-Identifier: Apache-2.0
//
// Finds a minimum cut with bounds on the loads of its sides, from the largest flow between a source
// and a sink (Y. Dinitz, Soviet Mathematics Doklady 11, 1970). The first side is that of the
// source. If no minimum cut keeps the bounds, one item at a time is fixed to the side that has too
// little, and the flow is enlarged (M. Hamann, B. Strasser, "Graph bisection with Pareto
// optimization", ALENEX 2016). The cut is then not always the cheapest one within the bounds.
#pragma once

#include <cstdint>
#include <vector>

namespace numascape::balance {

// Items that are divided between two sides. An item costs an amount on one of the sides, and
// nothing on the other. A connection costs an amount if its ends are on different sides.
class MinimumCut {
  public:
    void clear(std::size_t items);
    // Call it once for each item. `more`: what the item costs more on the second side (negative:
    // less). `inner`: how far it is now inside the first side (positive) or inside the second
    // (negative).
    void item(std::uint32_t i, double load, double more, bool first, std::int32_t inner);
    // The cost if these two are on different sides. Call it once for each pair.
    void connect(std::uint32_t i, std::uint32_t j, double cost);

    // Finds a division that costs less than the present one, and whose first side then has more
    // load than now by at least `least` and at most `most`. False if it finds none.
    bool divide(double least, double most);
    bool first(std::uint32_t i) const { return on_first_[i]; }

  private:
    struct Edge {
        std::uint32_t to, reverse;
        double left;  // how much more can flow
    };
    struct Connection {
        std::uint32_t i, j;
        double cost;
    };
    // The items that the source still reaches, or that still reach the sink.
    struct Side {
        std::vector<std::uint8_t> in;
        std::vector<std::uint32_t> border;  // items next to it; some may have joined it
        double load = 0.0;
    };

    void build();
    double present_cost() const;
    void saturate();
    bool label();
    void augment(std::uint32_t source);
    // kSource: true for the source's side, false for the sink's.
    template <bool kSource>
    void augment_from(std::uint32_t from, const Side& side);
    template <bool kSource>
    void reach(Side& side, std::uint32_t from);
    template <bool kSource>
    void reach_all(Side& side);
    template <bool kSource>
    bool pierce(Side& side, Side& other);

    std::size_t items_ = 0;
    std::vector<double> load_;
    // How much more can flow from the source to the item (positive), or from it to the sink
    // (negative).
    std::vector<double> terminal_;
    std::vector<std::int32_t> inner_;
    std::vector<std::uint8_t> on_first_;
    std::vector<Connection> connections_;
    std::vector<std::uint32_t> offsets_;
    std::vector<Edge> edges_;
    std::vector<std::int32_t> level_;
    std::vector<std::uint32_t> queue_, next_, path_, came_;
    Side source_, sink_;
    double flow_ = 0.0;
    double tiny_ = 0.0;    // no more than a rounding error
    double enough_ = 0.0;  // with this flow, no cut costs less than the present one
};

}  // namespace numascape::balance
