// SPDX-License-Identifier: Apache-2.0
#include "sampled_callers.h"

#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace numascape {
namespace {

// Finds the callers of functions of this process.
class SampledCallersTest : public ::testing::Test {
  protected:
    struct Found {
        uint32_t call;
        uint64_t inner;  // return addresses
        uint64_t outer;
    };

    [[gnu::noinline]] Found called_by_outer() {
        Found found = called_by_middle();
        found.outer = reinterpret_cast<uint64_t>(__builtin_return_address(0));
        return found;
    }
    [[gnu::noinline]] Found called_by_middle() {
        ucontext_t here;
        getcontext(&here);
        const auto value = [&](int number) {
            return static_cast<uint64_t>(here.uc_mcontext.gregs[number]);
        };
        SampledRegisters registers{};
        registers.pc = value(REG_RIP);
        registers.general[4] = value(REG_RSP);
        registers.general[5] = value(REG_RBP);
        const uint32_t call = of(registers);
        return {call, reinterpret_cast<uint64_t>(__builtin_return_address(0)), 0};
    }
    uint32_t of(const SampledRegisters& registers) {
        return callers_.of(entry_, registers, stack_, in_kernel_, out_);
    }
    // The addresses of the calls that led to `call`, innermost first.
    std::vector<uint64_t> chain(uint32_t call) const {
        std::vector<uint64_t> found;
        for (auto entry = out_.rbegin(); entry != out_.rend(); ++entry) {
            if (entry->address == call) {
                found.push_back(entry->pc);
                call = entry->callers;
            }
        }
        outermost_ = call;
        return found;
    }

    FaultEntry entry_{0, 0, 0, static_cast<uint32_t>(getpid()), 0, 0, FaultKind::kSample};
    StackCopy stack_;
    bool in_kernel_ = false;
    std::vector<FaultEntry> out_;
    mutable uint32_t outermost_ = kUnknownCallers;

  private:
    MemoryOfProcesses memory_;
    SampledCallers callers_{memory_};
};

TEST_F(SampledCallersTest, CallsUpToTheStartOfTheProgram) {
    const Found found = called_by_outer();
    const auto calls = chain(found.call);
    ASSERT_GT(calls.size(), 2U);
    EXPECT_EQ(calls[0], found.inner - 1);
    EXPECT_EQ(calls[1], found.outer - 1);
    EXPECT_EQ(outermost_, kNoCallers);
    for (const FaultEntry& entry : out_) {
        EXPECT_EQ(entry.kind, FaultKind::kCall);
        EXPECT_LT(entry.callers, entry.address);
    }
}

TEST_F(SampledCallersTest, CallsInCommonAreInTheLogOnce) {
    std::vector<uint32_t> calls;
    std::vector<size_t> entries;
    for (int i = 0; i < 3; ++i) {
        calls.push_back(called_by_outer().call);
        entries.push_back(out_.size());
    }
    EXPECT_EQ(calls[1], calls[2]);
    EXPECT_EQ(entries[1], entries[2]);
}

TEST_F(SampledCallersTest, TheCodeThatEntersTheKernelIsACaller) {
    in_kernel_ = true;
    const Found found = called_by_outer();
    const auto calls = chain(found.call);
    ASSERT_GT(calls.size(), 2U);
    EXPECT_EQ(calls[1], found.inner - 1);
}

// The copy has the words of the time of the sample, even if the stack has changed since.
TEST_F(SampledCallersTest, TheCopyOfTheStackComesFirst) {
    static const std::vector<char> zeros(1 << 16, 0);
    ucontext_t here;
    getcontext(&here);
    const auto stack = static_cast<uint64_t>(here.uc_mcontext.gregs[REG_RSP]);
    stack_ = {stack - (1 << 14), zeros};
    // A return address of 0 is that of the outermost function.
    const Found found = called_by_outer();
    EXPECT_TRUE(chain(found.call).empty());
}

// Some assembly has no call frame information. Here, it has the return address of its caller on the
// stack that another register points to.
TEST_F(SampledCallersTest, WithoutInformationAReturnAddressIsSearched) {
    void* code =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const Found found = called_by_outer();
    const auto in_code = reinterpret_cast<uint64_t>(code);
    std::vector<uint64_t> words(64, 3);
    words[40] = in_code + 64;  // code, but not behind a call
    words[42] = found.inner;   // behind the call of called_by_middle
    words[43] = found.outer;
    SampledRegisters registers{};
    registers.pc = in_code + 8;
    registers.general[4] = reinterpret_cast<uint64_t>(words.data());
    registers.general[3] = reinterpret_cast<uint64_t>(words.data() + 38);
    const auto calls = chain(of(registers));
    ASSERT_FALSE(calls.empty());
    EXPECT_EQ(calls[0], found.inner - 1);
    registers.general[3] = 0;
    EXPECT_EQ(of(registers), kUnknownCallers);
    munmap(code, 4096);
}

TEST_F(SampledCallersTest, TheCallersOfAnEndedProcessAreUnknown) {
    entry_.pid = 0x7fffffff;
    EXPECT_EQ(called_by_outer().call, kUnknownCallers);
    EXPECT_TRUE(out_.empty());
}

}  // namespace
}  // namespace numascape
