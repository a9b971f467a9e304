// SPDX-License-Identifier: Apache-2.0
//
// Rules are compared with the C library's own unwinder on this program's stack, and with sections
// written here byte by byte.
#include "call_frame_rules.h"

#include <alloca.h>
#include <execinfo.h>
#include <link.h>

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "frame_information.h"

namespace numascape {
namespace {

constexpr size_t kMax = 64;

int add_module(dl_phdr_info* info, size_t, void* rules) {
    uint64_t start = ~uint64_t{0};
    uint64_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            start =
                std::min<uint64_t>(start, (info->dlpi_addr + segment.p_vaddr) & ~uint64_t{4095});
            end = std::max<uint64_t>(end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
        }
    }
    static_cast<CallFrameRules*>(rules)->add_module(start, end);
    return 0;
}

CallFrameRules& rules() {
    static CallFrameRules all;
    static const bool opened = all.open() && dl_iterate_phdr(add_module, &all) == 0;
    EXPECT_TRUE(opened);
    return all;
}

bool read_own_word(uint64_t address, uint64_t& word) {
    std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
    return true;
}

struct Found {
    std::vector<uint64_t> ours;
    std::vector<uint64_t> unwinders;
    bool outermost = false;
};

// The callers of this function, from our rules and from the C library.
__attribute__((noinline)) void look(Found& found) {
    void* addresses[kMax];
    const int count = backtrace(addresses, kMax);
    CallFrame frame{};
    asm volatile("lea 0(%%rip), %0\n mov %%rsp, %1\n mov %%rbp, %2"
                 : "=r"(frame.pc), "=r"(frame.stack_pointer), "=r"(frame.frame_pointer));
    Step step = Step::kCaller;
    uint64_t inside = frame.pc;
    while (found.ours.size() < kMax - 1) {
        step = step_to_caller(rules().at(inside, frame.pc), frame, read_own_word);
        if (step != Step::kCaller) {
            break;
        }
        found.ours.push_back(frame.pc);
        inside = frame.pc - 1;
    }
    found.outermost = step == Step::kOutermost;
    for (int i = 1; i < count; ++i) {
        found.unwinders.push_back(reinterpret_cast<uint64_t>(addresses[i]));
    }
}

void expect_equal(const Found& found) {
    EXPECT_GT(found.ours.size(), 4u);
    EXPECT_EQ(found.ours, found.unwinders);
    EXPECT_TRUE(found.outermost);
}

__attribute__((noinline)) void with_variable_size(size_t bytes, Found& found) {
    auto* memory = static_cast<volatile char*>(alloca(bytes));
    memory[bytes - 1] = 1;
    look(found);
    memory[0] = memory[bytes - 1];
}

// The compiler realigns the stack: the frame's address is read from memory.
__attribute__((noinline)) void with_aligned_memory(size_t bytes, Found& found) {
    alignas(128) volatile char memory[256];
    memory[bytes % 256] = 1;
    auto* more = static_cast<volatile char*>(alloca(bytes));
    more[0] = memory[bytes % 256];
    with_variable_size(bytes + static_cast<size_t>(more[0]), found);
    memory[0] = more[0];
}

__attribute__((noinline)) int recursive(int depth, Found& found) {
    if (depth == 0) {
        with_aligned_memory(300, found);
        return 0;
    }
    return recursive(depth - 1, found) + depth;
}

TEST(CallFrameRules, AgreeWithTheCLibrary) {
    Found found;
    look(found);
    expect_equal(found);
}

TEST(CallFrameRules, OfRealignedStacksOfVariableSize) {
    Found found;
    with_aligned_memory(200, found);
    expect_equal(found);
}

TEST(CallFrameRules, OfRecursion) {
    Found found;
    EXPECT_EQ(recursive(9, found), 45);
    expect_equal(found);
}

TEST(CallFrameRules, AreUnknownWhereThereIsNoModule) {
    const uint64_t here = reinterpret_cast<uint64_t>(&rules());
    EXPECT_EQ(rules().at(here, here).frame_address, FrameAddress::kUnknown);
}

TEST(CallFrameRules, OfARemovedModuleAreNotRead) {
    static CallFrameRules own;
    ASSERT_TRUE(own.open());
    dl_iterate_phdr(add_module, &own);
    const auto pc = reinterpret_cast<uint64_t>(&look);
    EXPECT_EQ(own.at(pc, pc).frame_address, FrameAddress::kFromStackPointer);
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void*) {
            own.remove_module(info->dlpi_addr);
            return 0;
        },
        nullptr);
    EXPECT_EQ(own.at(pc, pc + 1).frame_address, FrameAddress::kUnknown);
    own.close();
}

// Call frame information of one function at kCode.
class Section {
  public:
    static constexpr uint64_t kCode = 0x1000;  // bytes behind the section's start
    static constexpr uint64_t kCodeBytes = 0x100;

    // Instructions of the common entry, and of the function.
    Section(const std::vector<uint8_t>& common, const std::vector<uint8_t>& own,
            const std::string& augmentation = "zR") {
        bytes_.resize(20);  // the search table comes last
        const size_t common_at = bytes_.size();
        begin();
        word(0);
        byte(1);
        for (const char letter : augmentation) byte(static_cast<uint8_t>(letter));
        byte(0);
        byte(1);     // code factor
        byte(0x78);  // data factor: -8
        byte(kReturnColumn);
        byte(1);     // of augmentation
        byte(0x1b);  // pointers: relative, 4 bytes
        add(common);
        end();
        const size_t own_at = bytes_.size();
        begin();
        word(static_cast<uint32_t>(bytes_.size() - common_at));
        word(static_cast<uint32_t>(kCode - bytes_.size()));
        word(kCodeBytes);
        byte(0);
        add(own);
        end();
        const uint8_t table[] = {1, 0x1b, 0x03, 0x3b};
        std::memcpy(bytes_.data(), table, sizeof table);
        put(4, 0);  // the place of .eh_frame: not used
        put(8, 1);  // functions
        put(12, kCode);
        put(16, static_cast<uint32_t>(own_at));
        bytes_.resize(kCode + kCodeBytes);
    }

    CallFrameRule rule(uint64_t offset) const {
        const auto start = reinterpret_cast<uint64_t>(bytes_.data());
        return read_call_frame_rule({start, start + bytes_.size(), start}, start + kCode + offset);
    }
    std::vector<uint8_t>& bytes() { return bytes_; }
    size_t used() const { return used_; }

  private:
    void byte(uint8_t value) { bytes_.push_back(value); }
    void word(uint32_t value) {
        for (int i = 0; i < 4; ++i) byte(static_cast<uint8_t>(value >> 8 * i));
    }
    void put(size_t at, uint32_t value) { std::memcpy(&bytes_[at], &value, sizeof value); }
    void add(const std::vector<uint8_t>& more) {
        bytes_.insert(bytes_.end(), more.begin(), more.end());
    }
    void begin() {
        entry_ = bytes_.size();
        word(0);
    }
    void end() {
        while (bytes_.size() % 4 != 0) byte(0);
        put(entry_, static_cast<uint32_t>(bytes_.size() - entry_ - 4));
        used_ = bytes_.size();
    }

    std::vector<uint8_t> bytes_;
    size_t entry_ = 0;
    size_t used_ = 0;
};

// def_cfa rsp + 8; the return address below it.
const std::vector<uint8_t> kUsual = {0x0c, 7, 8, 0x90, 1};

void expect_rule(const CallFrameRule& rule, FrameAddress address, int32_t offset,
                 SavedFramePointer saved = SavedFramePointer::kSame, int16_t saved_offset = 0) {
    EXPECT_EQ(rule.frame_address, address);
    EXPECT_EQ(rule.offset, offset);
    EXPECT_EQ(rule.saved, saved);
    EXPECT_EQ(rule.saved_offset, saved_offset);
}

TEST(FrameInformation, FollowsPushesAndPops) {
    // push rbp; mov rsp, rbp; ...; pop rbp; ret; and once more behind a jump.
    const Section section(kUsual, {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x20, 0x0a, 0x0c,
                                   7, 8, 0xc6, 0x41, 0x0b});
    expect_rule(section.rule(0), FrameAddress::kFromStackPointer, 8);
    expect_rule(section.rule(1), FrameAddress::kFromStackPointer, 16,
                SavedFramePointer::kAtFrameAddress, -16);
    expect_rule(section.rule(4), FrameAddress::kFromFramePointer, 16,
                SavedFramePointer::kAtFrameAddress, -16);
    expect_rule(section.rule(0x24), FrameAddress::kFromStackPointer, 8);
    expect_rule(section.rule(0x25), FrameAddress::kFromFramePointer, 16,
                SavedFramePointer::kAtFrameAddress, -16);
}

TEST(FrameInformation, KnowsRealignedStacks) {
    // DW_CFA_expression rbp: breg6 0; DW_CFA_def_cfa_expression: breg6 -8, deref.
    const Section section(kUsual, {0x44, 0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 0x06});
    expect_rule(section.rule(8), FrameAddress::kAtFramePointer, -8,
                SavedFramePointer::kAtFramePointer, 0);
}

TEST(FrameInformation, KnowsTheOutermostFunction) {
    const Section section(kUsual, {0x07, kReturnColumn});
    EXPECT_EQ(section.rule(8).frame_address, FrameAddress::kOutermost);
}

TEST(FrameInformation, KnowsWhereAFunctionEnds) {
    const Section section(kUsual, {});
    expect_rule(section.rule(Section::kCodeBytes - 1), FrameAddress::kFromStackPointer, 8);
    EXPECT_EQ(section.rule(Section::kCodeBytes).frame_address, FrameAddress::kUnknown);
    EXPECT_EQ(section.rule(~uint64_t{0}).frame_address, FrameAddress::kUnknown);
}

TEST(FrameInformation, DoesNotGuess) {
    const std::vector<std::vector<uint8_t>> unusual = {
        {0x0c, 3, 8},                                // relative to another register
        {0x0f, 2, 0x77, 8},                          // an expression without a dereference
        {0x0f, 4, 0x76, 0x78, 0x06, 0x06},           // one with two
        {0x90, 2},                                   // the return address lies elsewhere
        {0x09, 6, 3},                                // the frame pointer is in another register
        {0x16, 6, 1, 0x30},                          // or is computed
        {0x0b},                                      // nothing was remembered
        {0x3f},                                      // no instruction
        {0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},  // an offset of more than 31 bits
    };
    for (const auto& instructions : unusual) {
        EXPECT_EQ(Section(kUsual, instructions).rule(8).frame_address, FrameAddress::kUnknown)
            << "instruction " << int{instructions[0]};
    }
    // A signal handler's frame.
    EXPECT_EQ(Section(kUsual, {}, "zRS").rule(8).frame_address, FrameAddress::kUnknown);
}

TEST(FrameInformation, MayBeDamaged) {
    std::mt19937 random(17);
    const Section whole(kUsual, {0x41, 0x0e, 16,   0x86, 2, 0x43, 0x0d, 6,    0x10, 6,    2,
                                 0x76, 0,    0x0a, 0x0f, 3, 0x76, 0x78, 0x06, 0x0b, 0x2e, 0x10});
    size_t known = 0;
    for (int round = 0; round < 20000; ++round) {
        Section damaged = whole;
        for (int i = 0; i < 3; ++i) {
            damaged.bytes()[random() % damaged.used()] = static_cast<uint8_t>(random());
        }
        const CallFrameRule rule = damaged.rule(random() % Section::kCodeBytes);
        known += rule.frame_address != FrameAddress::kUnknown;
    }
    EXPECT_GT(known, 0u);
    EXPECT_LT(known, 20000u);
}

}  // namespace
}  // namespace numascape
