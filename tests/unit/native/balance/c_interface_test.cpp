// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "numascape/balance.h"

namespace {

struct Given {
    double load[4] = {1.0, 1.0, 1.0, 1.0};
    uint32_t core[4] = {0, 0, 0, 0};
    uint32_t core_node[2] = {0, 1};
    double factor[4] = {1.0, 2.0, 2.0, 1.0};
    numascape_balance_problem problem{};
    numascape_balance_options options{};
    char error[200] = "";

    Given() {
        problem.tasks = 4;
        problem.load = load;
        problem.core = core;
        problem.cores = 2;
        problem.core_node = core_node;
        problem.nodes = 2;
        problem.factor = factor;
        numascape_balance_defaults(&options);
    }
    int run(uint32_t* mapping, numascape_balance_metrics* metrics) {
        return numascape_balance(&problem, &options, mapping, metrics, error, sizeof error);
    }
};

TEST(CInterface, MapsAndMeasures) {
    Given given;
    uint32_t mapping[4];
    numascape_balance_metrics metrics;
    for (size_t i = 0; numascape_balance_algorithm(i) != nullptr; ++i) {
        given.options.algorithm = numascape_balance_algorithm(i);
        ASSERT_EQ(given.run(mapping, &metrics), 0) << given.error;
        EXPECT_EQ(metrics.imbalance, 1.0) << given.options.algorithm;
        numascape_balance_metrics again;
        ASSERT_EQ(numascape_balance_measure(&given.problem, mapping, &again, nullptr, 0), 0);
        EXPECT_EQ(again.migrations, metrics.migrations);
    }
}

TEST(CInterface, WorksWithoutFactors) {
    Given given;
    given.problem.factor = nullptr;
    uint32_t mapping[4];
    EXPECT_EQ(given.run(mapping, nullptr), 0) << given.error;
}

TEST(CInterface, SaysWhatIsWrongInOneLine) {
    Given given;
    given.core[2] = 9;
    uint32_t mapping[4] = {7, 7, 7, 7};
    EXPECT_EQ(given.run(mapping, nullptr), -1);
    EXPECT_STREQ(given.error, "task 2 is on core 9 of 2");
    EXPECT_EQ(mapping[0], 7U);
    given.core[2] = 0;
    given.options.algorithm = "none";
    EXPECT_EQ(given.run(mapping, nullptr), -1);
    EXPECT_NE(std::string(given.error).find("numalb"), std::string::npos);
    char little[5];
    EXPECT_EQ(numascape_balance(&given.problem, &given.options, mapping, nullptr, little, 5), -1);
    EXPECT_EQ(std::strlen(little), 4U);
}

TEST(CInterface, StartsFromNamedMappings) {
    Given given;
    uint32_t mapping[4];
    given.options.starts = "now,,metis,twolevel";
    given.options.iterations = 100.0;
    EXPECT_EQ(given.run(mapping, nullptr), 0) << given.error;
    given.options.starts = "now,best";
    EXPECT_EQ(given.run(mapping, nullptr), -1);
    EXPECT_EQ(std::string(given.error).find("there is no start best: choose from now"), 0U);
}

TEST(CInterface, Relabels) {
    Given given;
    given.core[0] = given.core[1] = 1;
    uint32_t mapping[4] = {0, 0, 1, 1};
    ASSERT_EQ(numascape_balance_relabel(&given.problem, mapping, given.error, 200), 0);
    EXPECT_EQ(mapping[0], 1U);
    EXPECT_EQ(mapping[3], 0U);
}

}  // namespace
