// SPDX-License-Identifier: Apache-2.0
// Untrusted descriptions of machines are read strictly; layouts follow them.
#include "numascape/machine_document.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "numascape/layout_text.hpp"
#include "numascape/machine_layout.hpp"

using namespace numascape;

namespace {

// Two ordinary nodes and one of memory alone, with every form of JSON somewhere.
constexpr std::string_view described = R"({
 "format": "numascape machine",
 "version": 1,
 "name": "an \"example\", \u00e9\n",
 "nodes": [
  {"node": 0, "cpus": [0, 1, 2], "memory_bytes": 4294967296, "later": {"a": [true, false, {}]}},
  {"node": 1, "cpus": [3], "memory_bytes": 2147483648},
  {"node": 4, "cpus": [], "memory_bytes": 1073741824, "kind": "HBM"}
 ],
 "allowed_cpus": null,
 "distances": {"values": [[10, 21, 14.4], [21, 10, 24], [14, 24, null]],
               "provenance": {"kind": "slit"}},
 "bandwidths": [
  {"values": [[9, 9, 9], [9, 9, 9], [9, 9, 9]], "operation": "copy"},
  {"values": [[40, 10, null], [10, 20.5, null], [null, null, null]]},
  {"values": [[1, 1, 60], [1, 1, 6.1e1], [null, null, null]], "operation": "read"}
 ],
 "scaling": [{"points": [[1, -0.5e-3], [2, 0]], "provenance": {"kind": "given"}}]
}
)";

std::string replaced(std::string_view from, std::string_view to) {
    std::string text{described};
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(MachineDocument, GivesTheNodes) {
    const topology machine = parse_machine(described);
    ASSERT_EQ(machine.nodes().size(), 3U);
    EXPECT_EQ(machine.nodes()[0].cpus, (std::vector{0, 1, 2}));
    EXPECT_EQ(machine.nodes()[2].id, 4);
    EXPECT_EQ(machine.nodes()[2].memory_bytes, 1U << 30);
    EXPECT_EQ(machine.distance(0, 4), 14);
    EXPECT_EQ(machine.distance(4, 4), std::numeric_limits<int>::max());  // null: unknown
    EXPECT_EQ(machine.nearest(4, std::vector{1, 0}), 1U);
    // The first matrix of reads with a value for a pair counts, and the best value of a column.
    EXPECT_EQ(machine.nodes()[0].bandwidth, 40);
    EXPECT_EQ(machine.nodes()[1].bandwidth, 20.5);
    EXPECT_EQ(machine.nodes()[2].bandwidth, 61);
}

TEST(MachineDocument, SaysWhatMayBeUsed) {
    const topology fewer = parse_machine(replaced(
        R"("allowed_cpus": null)", R"("allowed_cpus": [2, 3, 9], "allowed_nodes": [1, 0])"));
    EXPECT_EQ(fewer.nodes()[0].cpus, std::vector{2});
    EXPECT_EQ(fewer.memory_nodes(), (std::vector{0, 1}));
    const topology controlled = parse_machine(
        replaced(R"("allowed_cpus": null)", R"("controllers": [{"values": [70, 70, 70]}])"));
    EXPECT_EQ(controlled.nodes()[0].bandwidth, 40);  // the reads of a node's own CPUs have priority
}

TEST(MachineDocument, SaysWhatIsWrongWhere) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {replaced("numascape machine", "a trace"), "not a numascape machine description"},
        {replaced("\"version\": 1", "\"version\": 2"), "expected a machine of version 1"},
        {replaced("\"node\": 4", "\"node\": 1"), "two nodes have the same number"},
        {replaced("\"node\": 4", "\"node\": 4.5"), "expected a whole number up to 2147483647"},
        {replaced("\"node\": 4", "\"other\": 4"), "a node without a number"},
        {replaced("[3]", "[65536]"), "expected a whole number up to 65535"},
        {replaced("[40, 10, null]", "[40, 10]"), "bandwidths must have one value for each node"},
        {replaced("[40, 10, null]", "[-40, 10, null]"), "a value below 0"},
        {replaced("40", "1e999"), "a number beyond double precision"},
        {replaced("40", "040"), "expected ,"},
        {replaced("40", "+40"), "expected a digit"},
        {replaced("40", "40."), "expected a digit"},
        {replaced("[3]", "[3,]"), "expected a digit"},
        {replaced("\\n", "\\x"), "no such escape"},
        {replaced("\\u00e9", "\\u00g9"), "expected four hexadecimal digits"},
        {replaced("an ", "an\n"), "a character that must be escaped"},
        {replaced("true", "truth"), "expected a value"},
        {std::string{described} + "{}", "text after the end"},
        {std::string(100'000, '['), "expected {"},
        {"{\"a\": " + std::string(100'000, '['), "nested too deeply"},
        {"", "expected {"},
    };
    for (const auto& [text, message] : wrong) {
        try {
            (void)parse_machine(text);
            ADD_FAILURE() << message;
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string_view{error.what()}.find(message), std::string_view::npos)
                << error.what() << " instead of " << message;
        }
    }
}

// The sanitizers check this.
TEST(MachineDocument, RefusesOrReadsWhateverItIsGiven) {
    int refused = 0;
    const auto read = [&](const std::string& text) {
        try {
            (void)parse_machine(text);
        } catch (const std::invalid_argument&) {
            ++refused;
        }
    };
    for (std::size_t size = 0; size + 2 < described.size(); ++size) {
        read(std::string{described.substr(0, size)});
        for (const char c : {'"', '\\', '{', ']', '9', '\0', '\xff'}) {
            std::string text{described};
            text[size] = c;
            read(text);
        }
    }
    EXPECT_GE(refused, static_cast<int>(described.size()) - 2);  // at least all cut texts
}

TEST(MachineDocument, IsReadFromAFile) {
    const std::filesystem::path path = testing::TempDir() + "numascape-machine.json";
    std::ofstream{path} << described;
    EXPECT_EQ(read_machine(path).nodes().size(), 3U);
    std::ofstream{path} << "{}";
    try {
        (void)read_machine(path);
        FAIL();
    } catch (const std::invalid_argument& error) {
        EXPECT_EQ(error.what(), path.string() + ": byte 2: not a numascape machine description");
    }
    std::filesystem::remove(path);
    EXPECT_THROW((void)read_machine(path), std::system_error);
    EXPECT_THROW((void)read_machine(path.parent_path()), std::system_error);
}

TEST(MachineLayout, DividesByCpus) {
    const topology machine{std::vector<numa_node>{
        {0, {0, 1, 2}, true, {}}, {1, {}, true, {}}, {2, {3}, true, {}}, {3, {4, 5}, false, {}}}};
    const auto where = layout_by_cpus(machine, 10);
    EXPECT_EQ(to_text(where), "weighted 3 1 grain 10; nodes 0 2");
    EXPECT_EQ(where.first(1, 1000), 750U);
    const topology none{std::vector<numa_node>{{4, {}, true, {}}}};
    EXPECT_EQ(to_text(layout_by_cpus(none)), "weighted 1; nodes 4");
}

TEST(MachineLayout, DividesByMemoryAndBandwidth) {
    const topology machine = parse_machine(described);
    EXPECT_EQ(to_text(layout_by_cpus(machine)), "weighted 3 1; nodes 0 1");
    const auto memory = layout_by_memory(machine, 2);
    EXPECT_EQ(memory.first(1, 7'000), 4'000U);
    EXPECT_EQ(memory.first(2, 7'000), 6'000U);
    EXPECT_EQ(memory.node(2, 7'000), 4);
    EXPECT_EQ(to_text(memory), "weighted 4 2 1 grain 2; nodes 0 1 4");
    const auto bandwidth = layout_by_bandwidth(machine);
    EXPECT_NEAR(static_cast<double>(bandwidth.first(1, 1'215'000)), 400'000, 2);
    EXPECT_NEAR(static_cast<double>(bandwidth.first(2, 1'215'000)), 605'000, 2);
    try {
        (void)layout_by_bandwidth(topology{std::vector<numa_node>{{7, {0}, true, {}}}});
        FAIL();
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(), "the bandwidth of node 7 is unknown");
    }
}

}  // namespace
