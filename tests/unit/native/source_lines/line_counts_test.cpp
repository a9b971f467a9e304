// SPDX-License-Identifier: Apache-2.0
//
// Counts of instructions and samples of structures become counts of lines.
#include "line_counts.h"

#include <gtest/gtest.h>

#include "proportional_fit.h"
#include "structure_samples.h"

namespace numascape {
namespace {

constexpr uint32_t kNowhere = 0;

TEST(LineCounts, sums_are_those_of_the_structures_whatever_the_samples_say) {
    const std::vector<SiteAccess> accesses{
        {1, 0, 1, {1000, 7}, 0}, {2, 0, 2, {333, 0}, 0}, {3, 1, 3, {50, 50}, 0}};
    const std::vector<SiteSample> samples{
        {1, 0, 5, 3, 0}, {1, 0, 6, 1, 0}, {2, 0, 5, 1, 0}, {2, 0, 6, 1, 0}, {3, 1, 9, 1, 0}};
    const std::vector<StructureTotal> totals{{5, 0, {700, 3}}, {6, 0, {600, 4}}, {5, 1, {49, 51}}};
    const auto lines = count_lines(accesses, samples, totals, kNowhere);
    for (const StructureTotal& total : totals) {
        Accesses sum;
        for (const LineCount& line : lines) {
            if (line.structure == total.structure && line.phase == total.phase) {
                sum.reads += line.counts.reads;
                sum.writes += line.counts.writes;
            }
        }
        EXPECT_EQ(sum.reads, total.counts.reads);
        EXPECT_EQ(sum.writes, total.counts.writes);
    }
}

TEST(LineCounts, a_structure_without_accesses_gets_none) {
    const auto lines = count_lines({{1, 0, 1, {10, 0}, 0}}, {{1, 0, 5, 1, 0}, {1, 0, 6, 9, 0}},
                                   {{5, 0, {10, 0}}}, kNowhere);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].structure, 5U);
    EXPECT_EQ(lines[0].counts.reads, 10U);
}

TEST(ProportionalFit, rows_are_exact_and_columns_follow) {
    const SparseTable table{{2, 4}, {0, 1, 0, 1}, {0.5, 0.5, 0.5, 0.5}};
    const auto values = fit(table, {100, 100}, {150, 50});
    EXPECT_NEAR(values[0] + values[1], 100, 1e-9);
    EXPECT_NEAR(values[0] + values[2], 150, 1e-6);
}

TEST(ProportionalFit, a_row_of_one_value_keeps_its_sum) {
    const SparseTable table{{1, 3}, {0, 0, 1}, {1, 0.9, 0.1}};
    const auto values = fit(table, {40, 10}, {42, 8});
    EXPECT_EQ(values[0], 40);
    EXPECT_NEAR(values[1] + values[2], 10, 1e-9);
}

TEST(StructureSamples, a_shared_page_gives_each_structure_its_part) {
    // Owners 0 and 2 are of one structure; owner 3 has none.
    const std::vector<uint32_t> structures{7, 8, 7, kNoStructure};
    std::vector<SiteSample> samples;
    add_shared({{1, 0, 4, 8.0}}, {{4, 0, 0.25}, {4, 1, 0.25}, {4, 2, 0.25}, {4, 3, 0.25}},
               structures, samples);
    ASSERT_EQ(samples.size(), 2U);
    EXPECT_EQ(samples[0].structure, 7U);
    EXPECT_EQ(samples[0].weight, 4.0);
    EXPECT_EQ(samples[1].structure, 8U);
    EXPECT_EQ(samples[1].weight, 2.0);
}

TEST(StructureSamples, damaged_numbers_are_left_out) {
    std::vector<SiteSample> samples;
    add_shared({{1, 0, 9, 8.0}}, {{4, 70, 1.0}}, std::vector<uint32_t>{7}, samples);
    add_shared({{1, 0, 4, 8.0}}, {{4, 70, 1.0}}, std::vector<uint32_t>{7}, samples);
    EXPECT_TRUE(samples.empty());
}

}  // namespace
}  // namespace numascape
