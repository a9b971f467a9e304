// SPDX-License-Identifier: Apache-2.0
#include "fault_log.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace numascape {
namespace {

constexpr uint32_t kProcess = 7;

FaultEntry call(uint64_t number, uint32_t callers, uint64_t pc, uint32_t process = kProcess) {
    return {5, number, pc, process, 1, 0, FaultKind::kCall, callers};
}

FaultLog read_back(const std::vector<FaultEntry>& entries) {
    const std::string path = ::testing::TempDir() + "faults-" + std::to_string(getpid());
    FaultHeader header{};
    std::memcpy(header.magic, kFaultMagic, sizeof header.magic);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(reinterpret_cast<const char*>(entries.data()),
               static_cast<std::streamsize>(entries.size() * sizeof(FaultEntry)));
    file.close();
    FaultLog log = read_faults(path, kProcess, 0);
    std::remove(path.c_str());
    return log;
}

TEST(FaultLog, HasTheCallsOfTheProcess) {
    const FaultLog log = read_back({call(2, kNoCallers, 0x100),
                                    call(3, 2, 0x200),
                                    call(4, kNoCallers, 0x300, kProcess + 1),
                                    {6, 0x7000, 0x400, kProcess, 1, 0, FaultKind::kSample, 3}});
    ASSERT_EQ(log.calls.size(), 2U);
    EXPECT_EQ(log.calls.at(3).pc, 0x200U);
    EXPECT_EQ(log.calls.at(3).callers, 2U);
    ASSERT_EQ(log.faults.size(), 1U);
    EXPECT_EQ(log.faults[0].callers, 3U);
}

TEST(FaultLog, HasNoCallBeforeItsCallers) {
    EXPECT_TRUE(
        read_back({call(2, 2, 1), call(3, 4, 1), call(0, 0, 1), call(1, 0, 1)}).calls.empty());
}

TEST(FaultLog, HasCallsOfAProgramAlsoIfTheyWereFoundBeforeIt) {
    const FaultLog log = read_back({call(2, kNoCallers, 0x100),
                                    {9, 0, 0, kProcess, 1, 0, FaultKind::kExec},
                                    {10, 0x7000, 0x400, kProcess, 1, 0, FaultKind::kSample, 2}});
    EXPECT_EQ(log.calls.size(), 1U);
}

}  // namespace
}  // namespace numascape
