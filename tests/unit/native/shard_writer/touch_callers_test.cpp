// SPDX-License-Identifier: Apache-2.0
//
// The callers of first touches, found on this program's own stack.
#include "touch_callers.h"

#include <link.h>
#include <pthread.h>

#include <vector>

#include <gtest/gtest.h>

#include "call_stack_log.h"
#include "os.h"

namespace numascape {
namespace {

int add_module(dl_phdr_info* info, size_t, void* log) {
    auto& stacks = *static_cast<CallStackLog*>(log);
    uint64_t start = ~uint64_t{0};
    uint64_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        const uint64_t from = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD) {
            start = std::min<uint64_t>(start, from & ~uint64_t{4095});
            end = std::max<uint64_t>(end, from + segment.p_memsz);
            if ((segment.p_flags & PF_X) != 0) {
                stacks.code().add_code(from, from + segment.p_memsz, true);
            }
        }
    }
    stacks.add_module(start, end);
    return 0;
}

// A shard in memory, and the calling thread.
class TouchCallersTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(shard_.open(os::memory_file(), os::memory_file(), "program", "", 0));
        ASSERT_TRUE(stacks_.open() && callers_.open());
        dl_iterate_phdr(add_module, &stacks_);
        pthread_attr_t attributes;
        void* start = nullptr;
        size_t bytes = 0;
        ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
        pthread_attr_getstack(&attributes, &start, &bytes);
        pthread_attr_destroy(&attributes);
        const auto low = reinterpret_cast<uint64_t>(start);
        thread_ = shard_.start_thread(low, low + bytes);
        ASSERT_NE(thread_, nullptr);
    }
    void TearDown() override {
        stacks_.close();
        callers_.close();
        shard_.close();
    }

    __attribute__((noinline)) uint64_t touch(HijackedWords hijacked = {}) {
        CallFrame frame{};
        asm volatile("lea 0(%%rip), %0\n mov %%rsp, %1\n mov %%rbp, %2"
                     : "=r"(frame.pc), "=r"(frame.stack_pointer), "=r"(frame.frame_pointer));
        return callers_.of_code(*thread_, frame, hijacked);
    }
    // Both have the same frame, so `touch` is called with the same stack pointer.
    __attribute__((noinline)) uint64_t from_one() { return touch(); }
    __attribute__((noinline)) uint64_t from_other() { return touch(); }
    __attribute__((noinline)) uint64_t recursive(int depth) {
        return depth > 0 ? recursive(depth - 1) : touch();
    }
    // While its own return address is replaced, as that of an allocation function is.
    __attribute__((noinline)) uint64_t from_hijacked() {
        auto* word = static_cast<uint64_t*>(__builtin_frame_address(0)) + 1;
        const HijackedWord known{17, *word, reinterpret_cast<uint64_t>(word)};
        *word = known.word;
        const uint64_t id = touch({&known, 1});
        *word = known.original;
        return id;
    }
    __attribute__((noinline)) uint64_t without_frame_pointer() {
        CallFrame frame{};
        asm volatile("lea 0(%%rip), %0\n mov %%rsp, %1"
                     : "=r"(frame.pc), "=r"(frame.stack_pointer));
        return callers_.of_code(*thread_, frame);
    }

    ShardWriter shard_;
    CallStackLog stacks_{shard_};
    TouchCallers callers_{shard_, stacks_.code()};
    ThreadRecorder* thread_ = nullptr;
};

TEST_F(TouchCallersTest, AreDistinguishedAlsoAtTheSameStackPointer) {
    std::vector<uint64_t> ids;
    for (int i = 0; i < 6; ++i) {
        ids.push_back(i % 3 == 1 ? from_other() : from_one());
    }
    EXPECT_NE(ids[0], 0u);
    EXPECT_NE(ids[0], ids[1]);
    EXPECT_EQ(ids[2], ids[3]);  // the same call of from_one
    EXPECT_EQ(ids[0], ids[2]);
    EXPECT_EQ(ids[1], ids[4]);
}

TEST_F(TouchCallersTest, CountARecursiveCallOnce) {
    std::vector<uint64_t> ids;
    for (int depth = 0; depth < 200; ++depth) {
        ids.push_back(recursive(depth));
    }
    EXPECT_NE(ids[0], ids[1]);
    for (size_t depth = 2; depth < ids.size(); ++depth) {
        EXPECT_EQ(ids[depth], ids[1]);
    }
}

// Then a part of the stack is copied. It has the innermost frames.
TEST_F(TouchCallersTest, AreFoundAlsoIfTheRecorderDoesNotKnowTheStack) {
    thread_->stack_end = thread_->stack_start;
    const uint64_t one = from_one();
    const uint64_t other = from_other();
    EXPECT_NE(one, 0u);
    EXPECT_NE(one, other);
}

TEST_F(TouchCallersTest, PassReplacedReturnAddresses) {
    std::vector<uint64_t> ids;
    for (int i = 0; i < 2; ++i) {
        ids.push_back(from_hijacked());
    }
    EXPECT_EQ(ids[0], ids[1]);
    EXPECT_NE(ids[0], from_one());
}

TEST_F(TouchCallersTest, EndWhereTheFramePointerIsNeededAndNotKnown) {
    const uint64_t unknown = without_frame_pointer();
    EXPECT_NE(unknown, 0u);
    EXPECT_NE(unknown, from_one());
}

TEST_F(TouchCallersTest, AreNotSoughtWithoutSystemCalls) {
    shard_.make_no_calls(thread_);
    EXPECT_EQ(from_one(), 0u);
    shard_.make_calls();
}

}  // namespace
}  // namespace numascape
