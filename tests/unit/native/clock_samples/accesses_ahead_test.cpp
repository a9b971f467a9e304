// SPDX-License-Identifier: Apache-2.0
#include "accesses_ahead.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace numascape {
namespace {

// Code in this process, at an address of its own.
class AccessesAheadTest : public ::testing::Test {
  protected:
    AccessesAheadTest()
        : code_at_(static_cast<uint8_t*>(
              mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        for (size_t i = 0; i < kGeneralRegisters; ++i) {
            registers_.general[i] = 0x1000 * (i + 1);
        }
        registers_.flags = 0;
    }
    ~AccessesAheadTest() override { munmap(code_at_, 8192); }

    // The accesses from byte `from` of the code on.
    std::vector<AccessAhead> of(const std::vector<uint8_t>& code, size_t from = 0) {
        std::copy(code.begin(), code.end(), code_at_);
        memory_.begin_round();
        registers_.pc = reinterpret_cast<uint64_t>(code_at_) + from;
        return ahead_.of(getpid(), registers_);
    }
    // The known addresses; 0 for an unknown one.
    std::vector<uint64_t> addresses(const std::vector<uint8_t>& code, size_t from = 0) {
        std::vector<uint64_t> found;
        for (const AccessAhead& access : of(code, from)) {
            found.push_back(access.address.value_or(0));
        }
        return found;
    }
    uint64_t& rax() { return registers_.general[0]; }
    uint64_t& rcx() { return registers_.general[1]; }
    uint64_t& rdx() { return registers_.general[2]; }

    SampledRegisters registers_{};

  private:
    uint8_t* code_at_;
    MemoryOfProcesses memory_;
    AccessesAhead ahead_{memory_};
};

using Addresses = std::vector<uint64_t>;

// loop: mov rbx, [rax+rcx*8]; add [rdx], rbx; inc rcx; cmp rcx, 100; jl loop
const std::vector<uint8_t> kLoop = {0x48, 0x8b, 0x1c, 0xc8, 0x48, 0x01, 0x1a, 0x48, 0xff,
                                    0xc1, 0x48, 0x83, 0xf9, 0x64, 0x7c, 0xf0, 0xf4};

TEST_F(AccessesAheadTest, OneIterationOfALoop) {
    rcx() = 5;
    const auto found = of(kLoop);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].address, rax() + 40);
    EXPECT_FALSE(found[0].writes);
    EXPECT_EQ(found[1].address, rdx());
    EXPECT_FALSE(found[1].writes);
    EXPECT_EQ(found[2].address, rdx());
    EXPECT_TRUE(found[2].writes);
}

TEST_F(AccessesAheadTest, FromTheMiddleOfALoopTheNextIteration) {
    rcx() = 5;
    EXPECT_EQ(addresses(kLoop, 7), (Addresses{rax() + 48, rdx(), rdx()}));
}

TEST_F(AccessesAheadTest, TheLastIterationLeavesTheLoop) {
    rcx() = 99;
    EXPECT_EQ(addresses(kLoop, 7), Addresses{});
}

TEST_F(AccessesAheadTest, WhatIsLoadedIsUnknown) {
    // mov rax, [rax]; mov rbx, [rax+8]; mov rcx, [rdx]
    EXPECT_EQ(addresses({0x48, 0x8b, 0x00, 0x48, 0x8b, 0x58, 0x08, 0x48, 0x8b, 0x0a, 0xf4}),
              (Addresses{0x1000, 0, 0x3000}));
}

TEST_F(AccessesAheadTest, AnUnknownBranchForwardEnds) {
    // mov rax, [rcx]; test rax, rax; je +1; nop; mov rbx, [rdx]
    EXPECT_EQ(addresses({0x48, 0x8b, 0x01, 0x48, 0x85, 0xc0, 0x74, 0x01, 0x90, 0x48, 0x8b, 0x1a}),
              Addresses{0x2000});
}

TEST_F(AccessesAheadTest, AnUnknownBranchBackOfTheSamplesLoopIsAssumed) {
    // loop: mov rbx, [rdx]; mov rax, [rcx]; test rax, rax; jne loop
    const auto found = of({0x48, 0x8b, 0x1a, 0x48, 0x8b, 0x01, 0x48, 0x85, 0xc0, 0x75, 0xf5}, 3);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].address, 0x2000U);
    EXPECT_FALSE(found[0].is_assumed);
    EXPECT_EQ(found[1].address, 0x3000U);
    EXPECT_TRUE(found[1].is_assumed);
}

TEST_F(AccessesAheadTest, CallsReturn) {
    // call +3; mov rbx, [rdx]; mov rax, [rcx]; ret
    const auto found = addresses({0xe8, 0x03, 0, 0, 0, 0x48, 0x8b, 0x1a, 0x48, 0x8b, 0x01, 0xc3});
    const uint64_t stack = registers_.general[4];
    ASSERT_GE(found.size(), 4U);
    EXPECT_EQ(Addresses(found.begin(), found.begin() + 4),
              (Addresses{stack - 8, 0x2000, stack - 8, 0x3000}));
}

TEST_F(AccessesAheadTest, RelativeToThePcAndToSegments) {
    // mov rax, [rip+16]; mov rbx, fs:[rcx]; lea rcx, [rdx+rdx*2+1]; mov rcx, [rcx]
    const Addresses found = addresses({0x48, 0x8b, 0x05, 0x10, 0,    0,    0,    0x64, 0x48, 0x8b,
                                       0x19, 0x48, 0x8d, 0x4c, 0x52, 0x01, 0x48, 0x8b, 0x09, 0xf4});
    EXPECT_EQ(found, (Addresses{registers_.pc + 7 + 16, 0, 0x9001}));
}

TEST_F(AccessesAheadTest, NoAccesses) {
    // lea rax, [rcx]; nopw [rax]; prefetcht0 [rax]
    EXPECT_EQ(addresses({0x48, 0x8d, 0x01, 0x66, 0x0f, 0x1f, 0x00, 0x0f, 0x18, 0x08, 0xf4}),
              Addresses{});
    EXPECT_EQ(addresses({0x06}), Addresses{});  // no instruction
}

TEST_F(AccessesAheadTest, AStringIsALoop) {
    // rep movsb; mov rax, [rdx]
    EXPECT_EQ(addresses({0xf3, 0xa4, 0x48, 0x8b, 0x02, 0xf4}), (Addresses{0x7000, 0x8000}));
}

// A program with usual operations.
[[noreturn]] void work() {
    std::vector<std::string> words;
    std::vector<double> values(5);
    for (int i = 0; i < 5; ++i) {
        char text[64];
        std::snprintf(text, sizeof text, "%d and %.3f", i * 7919 % 1000, i / 7.0);
        words.emplace_back(text);
        values[static_cast<size_t>(i)] = std::strtod(text, nullptr) + std::strlen(text);
    }
    std::sort(words.begin(), words.end());
    std::sort(values.begin(), values.end());
    _exit(words[0].size() > 100 || values[0] < -1);
}

struct Access {
    uint64_t pc, address;
    bool writes;
};

SampledRegisters sampled(const user_regs_struct& r) {
    return {{r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11,
             r.r12, r.r13, r.r14, r.r15},
            r.eflags,
            r.rip};
}

dr_mcontext_t context_of(const user_regs_struct& r) {
    dr_mcontext_t context{};
    context.size = sizeof context;
    context.flags = DR_MC_ALL;
    context.xax = r.rax, context.xcx = r.rcx, context.xdx = r.rdx, context.xbx = r.rbx;
    context.xsp = r.rsp, context.xbp = r.rbp, context.xsi = r.rsi, context.xdi = r.rdi;
    context.r8 = r.r8, context.r9 = r.r9, context.r10 = r.r10, context.r11 = r.r11;
    context.r12 = r.r12, context.r13 = r.r13, context.r14 = r.r14, context.r15 = r.r15;
    return context;
}

// The accesses of the next instruction, with addresses from the actual registers.
std::vector<Access> actual(pid_t process, const user_regs_struct& r, MemoryOfProcesses& memory) {
    const auto bytes = memory.at(process, r.rip);
    std::array<std::byte, MemoryOfProcesses::kMaxBytes> copy{};
    std::copy(bytes.begin(), bytes.end(), copy.begin());
    instr_t instruction;
    instr_init(GLOBAL_DCONTEXT, &instruction);
    decode_from_copy(GLOBAL_DCONTEXT, reinterpret_cast<byte*>(copy.data()),
                     reinterpret_cast<byte*>(r.rip), &instruction);
    dr_mcontext_t context = context_of(r);
    std::vector<Access> found;
    const auto add = [&](opnd_t operand, bool writes) {
        if (opnd_is_memory_reference(operand)) {
            found.push_back({r.rip,
                             reinterpret_cast<uint64_t>(opnd_compute_address(operand, &context)),
                             writes});
        }
    };
    const bool reads = instr_reads_memory(&instruction), writes = instr_writes_memory(&instruction);
    for (int i = 0; reads && !instr_is_prefetch(&instruction) && i < instr_num_srcs(&instruction);
         ++i) {
        add(instr_get_src(&instruction, i), false);
    }
    for (int i = 0; writes && i < instr_num_dsts(&instruction); ++i) {
        add(instr_get_dst(&instruction, i), true);
    }
    instr_free(GLOBAL_DCONTEXT, &instruction);
    return found;
}

// Compares the predicted accesses at a sample with those that the thread then makes.
struct Prediction {
    std::vector<AccessAhead> accesses;
    bool with_memory;
    size_t seen = 0;
};

TEST(AccessesAhead, AreThoseThatAProgramMakes) {
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        work();
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    MemoryOfProcesses memory;
    AccessesAhead ahead(memory);
    std::deque<Prediction> open;
    size_t steps = 0, wrong = 0;
    std::array<size_t, 2> known{}, all{};  // without memory, and with it
    while (WIFSTOPPED(status)) {
        user_regs_struct registers{};
        ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        memory.begin_round();
        if (++steps % 11 == 0) {
            const bool with_memory = steps % 2 == 0;
            open.push_back({ahead.of(child, sampled(registers), with_memory), with_memory});
        }
        for (const Access& access : actual(child, registers, memory)) {
            for (Prediction& prediction : open) {
                if (prediction.seen == prediction.accesses.size()) {
                    continue;
                }
                const AccessAhead& said = prediction.accesses[prediction.seen++];
                const bool same = said.pc == access.pc && said.writes == access.writes &&
                                  said.address.value_or(access.address) == access.address;
                if (said.is_assumed && !same) {
                    prediction.seen = prediction.accesses.size();
                } else if (!same && wrong++ < 10) {
                    ADD_FAILURE() << std::hex << "at " << access.pc << ", said " << said.pc << ": "
                                  << said.address.value_or(0) << ", is " << access.address;
                }
                known[prediction.with_memory] += said.address ? 1 : 0;
                ++all[prediction.with_memory];
            }
        }
        std::erase_if(open, [](const Prediction& prediction) {
            return prediction.seen == prediction.accesses.size();
        });
        ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
        ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(wrong, 0U);
    EXPECT_GT(steps, 10000U);
    EXPECT_GT(known[0], all[0] / 2);
    EXPECT_GT(known[1], all[1] * 9 / 10);
    std::printf("%zu steps; known accesses: %zu of %zu, with memory %zu of %zu\n", steps, known[0],
                all[0], known[1], all[1]);
}

}  // namespace
}  // namespace numascape
