// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "algorithms.h"
#include "metrics.h"
#include "search_state.h"

namespace numascape::balance {

namespace {

struct Point {
    Metrics metrics;
    Mapping mapping;
};

bool as_good(const Metrics& a, const Metrics& b) {
    return a.imbalance <= b.imbalance && a.communication <= b.communication &&
           a.migrations <= b.migrations;
}

// The caps on imbalance to try, from the wanted one to the present imbalance.
std::vector<double> imbalance_caps(double wanted, double present) {
    std::vector<double> caps{wanted};
    for (double excess = 2.0 * std::max(wanted - 1.0, 0.01); 1.0 + excess < present;
         excess *= 2.0) {
        caps.push_back(1.0 + excess);
    }
    return caps;
}

}  // namespace

std::vector<Mapping> pareto_front(const Problem& problem, const Options& options) {
    const Mapping home = problem.current();
    std::vector<Point> front{{measure(problem, home), home}};
    const auto add = [&](Mapping mapping) {
        const Metrics metrics = measure(problem, mapping);
        for (const Point& point : front) {
            if (as_good(point.metrics, metrics)) return;
        }
        std::erase_if(front, [&](const Point& point) { return as_good(metrics, point.metrics); });
        front.push_back({metrics, std::move(mapping)});
    };
    const double price = search_goal(problem, options).price;
    const auto caps = imbalance_caps(aimed_imbalance(options), front[0].metrics.imbalance);
    constexpr double kShares[] = {4.0, 1.0, 0.3, 0.1, 0.03, 0.0};
    for (double cap : caps) {
        for (double share : kShares) {
            Options one = options;
            one.time_limit /= double(caps.size() * std::size(kShares));
            one.max_imbalance = cap;
            one.migration_price = share * price;
            add(incumbent_search(problem, one));
        }
    }
    std::sort(front.begin(), front.end(), [](const Point& a, const Point& b) {
        return a.metrics.migrations < b.metrics.migrations ||
               (a.metrics.migrations == b.metrics.migrations &&
                a.metrics.communication < b.metrics.communication);
    });
    std::vector<Mapping> mappings;
    for (Point& point : front) mappings.push_back(std::move(point.mapping));
    return mappings;
}

}  // namespace numascape::balance
