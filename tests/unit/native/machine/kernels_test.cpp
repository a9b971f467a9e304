// SPDX-License-Identifier: Apache-2.0
//
// The loops compute the right results with every instruction set of this processor.
#include "kernels.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace numascape::machine {
namespace {

constexpr std::size_t kCount = 3 * kBlock;

struct alignas(64) Block {
    double values[kCount];
};

TEST(Kernels, ComputeWhatTheySay) {
    const std::map<std::string, std::function<double(double, double, double)>> expected = {
        {"write", [](double, double, double) { return 3.0; }},
        {"copy", [](double b, double, double) { return b; }},
        {"stream", [](double b, double c, double) { return b + 3.0 * c; }},
        {"triad", [](double b, double c, double d) { return b + c * d; }}};
    const std::vector<InstructionSet> sets = instruction_sets();
    ASSERT_FALSE(sets.empty());
    for (const InstructionSet& set : sets) {
        ASSERT_EQ(set.operations.size(), 9U) << set.name;
        for (const Operation& operation : set.operations) {
            if (operation.name == "read") continue;
            Block a{}, b{}, c{}, d{};
            for (std::size_t i = 0; i < kCount; i++) {
                const auto x = static_cast<double>(i);
                b.values[i] = x;
                c.values[i] = 2 * x + 1;
                d.values[i] = 100 - x;
            }
            operation.kernel({a.values, b.values, c.values, d.values}, kCount, 2);
            std::string name(operation.name);
            if (name.ends_with("-nt")) name.resize(name.size() - 3);
            for (std::size_t i = 0; i < kCount; i++) {
                const double wanted = expected.at(name)(b.values[i], c.values[i], d.values[i]);
                ASSERT_EQ(a.values[i], wanted) << set.name << ' ' << operation.name << ' ' << i;
            }
            EXPECT_EQ(operation.bytes_per_element, 8 * operation.vectors);
        }
    }
}

TEST(Kernels, ReadSumsUpEveryElement) {
    Block a{};
    for (std::size_t i = 0; i < kCount; i++) a.values[i] = static_cast<double>(i);
    for (const InstructionSet& set : instruction_sets()) {
        ASSERT_EQ(set.operations[0].name, "read");
        const double sum =
            set.operations[0].kernel({a.values, nullptr, nullptr, nullptr}, kCount, 3);
        EXPECT_EQ(sum, 3 * kCount * (kCount - 1) / 2.0) << set.name;
    }
}

}  // namespace
}  // namespace numascape::machine
