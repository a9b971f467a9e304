// SPDX-License-Identifier: Apache-2.0
#include "memory_calls.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace numascape {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAt = 0x7000'0000;
constexpr uint64_t kTo = 0x7100'0000;

std::string words(const Effect& effect) {
    static const char* const kinds[] = {"map",    "unmap", "move",  "forget",
                                        "advise", "touch", "access"};
    const auto pages = [](uint64_t bytes) { return std::to_string(bytes / kPage); };
    std::string text = kinds[static_cast<int>(effect.kind)];
    text += " " + pages(effect.bytes) + (effect.start == kTo ? " to" : "");
    if (effect.kind == EffectKind::kMove && effect.from_bytes != 0) {
        text += " from " + pages(effect.from_bytes);
    }
    return text + (effect.huge ? " huge" : "");
}

struct Told {
    std::vector<std::string> risks;
    std::vector<std::string> effects;
};

bool read_own(uint64_t address, void* into, size_t bytes) {
    std::memcpy(into, reinterpret_cast<const void*>(address), bytes);
    return true;
}

Told tell(MemoryState& state, SystemCall call, long result) {
    state.read = read_own;
    Told told;
    auto risk = [&](const Effect& effect) { told.risks.push_back(words(effect)); };
    auto effect = [&](const Effect& each) { told.effects.push_back(words(each)); };
    ranges_at_risk(state, call, sink_of(risk));
    effects_of(state, call, result, sink_of(effect));
    return told;
}

Told tell(SystemCall call, long result) {
    MemoryState state;
    return tell(state, call, result);
}

using Words = std::vector<std::string>;

TEST(MemoryCalls, AFixedMappingReplacesOnlyWhenItSucceeds) {
    const SystemCall call{
        SYS_mmap, {kAt, 3 * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED}, {}};
    const Told done = tell(call, kAt);
    EXPECT_EQ(done.risks, Words{"unmap 3"});
    EXPECT_EQ(done.effects, (Words{"unmap 3", "map 3"}));
    const Told failed = tell(call, -ENOMEM);
    EXPECT_EQ(failed.risks, Words{"unmap 3"});
    EXPECT_TRUE(failed.effects.empty());
}

TEST(MemoryCalls, AMappingThatMayNotReplaceRisksNothing) {
    const Told told =
        tell({SYS_mmap, {kAt, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | 0x100000}, {}}, kAt);
    EXPECT_TRUE(told.risks.empty());
    EXPECT_EQ(told.effects, Words{"map 1"});
}

TEST(MemoryCalls, RemappingMovesResizesAndDoubles) {
    constexpr uint64_t kMove = MREMAP_MAYMOVE;
    const auto remap = [](uint64_t from_pages, uint64_t pages, uint64_t flags, uint64_t result) {
        return tell({SYS_mremap, {kAt, from_pages * kPage, pages * kPage, flags, kTo}, {}},
                    static_cast<long>(result));
    };
    EXPECT_EQ(remap(2, 4, kMove, kTo).risks, Words{"move 2"});
    EXPECT_EQ(remap(2, 4, kMove, kTo).effects, Words{"move 4 to from 2"});
    EXPECT_EQ(remap(2, 4, kMove | MREMAP_FIXED, kTo).effects,
              (Words{"unmap 4 to", "move 4 to from 2"}));
    EXPECT_EQ(remap(4, 1, 0, kAt).risks, Words{"unmap 3"});
    EXPECT_TRUE(remap(1, 4, 0, kAt).risks.empty());
    EXPECT_EQ(remap(0, 2, kMove, kTo).effects, Words{"move 2 to"});
    EXPECT_TRUE(remap(0, 2, kMove, kTo).risks.empty());
}

TEST(MemoryCalls, TheBreakGrowsAndShrinks) {
    MemoryState state;
    state.program_break = kAt;
    EXPECT_EQ(tell(state, {SYS_brk, {kAt + 2 * kPage}, {}}, kAt + 2 * kPage).effects,
              Words{"map 2"});
    const Told shrunk = tell(state, {SYS_brk, {kAt + kPage}, {}}, kAt + kPage);
    EXPECT_EQ(shrunk.risks, Words{"unmap 1"});
    EXPECT_EQ(shrunk.effects, Words{"unmap 1"});
    // If a break is not possible, the kernel returns the old one.
    EXPECT_TRUE(tell(state, {SYS_brk, {1}, {}}, kAt + kPage).effects.empty());
}

TEST(MemoryCalls, AdviceForgetsAlsoWhereThereAreHoles) {
    const SystemCall call{SYS_madvise, {kAt, 2 * kPage, MADV_DONTNEED}, {}};
    EXPECT_EQ(tell(call, 0).effects, Words{"forget 2"});
    EXPECT_EQ(tell(call, -ENOMEM).effects, Words{"forget 2"});
    EXPECT_TRUE(tell(call, -EINVAL).effects.empty());
    EXPECT_TRUE(tell({SYS_madvise, {kAt, kPage, MADV_FREE}, {}}, 0).effects.empty());
}

TEST(MemoryCalls, AdviceAsksForHugePagesOrRefusesThem) {
    EXPECT_EQ(tell({SYS_madvise, {kAt, 2 * kPage, MADV_HUGEPAGE}, {}}, 0).effects,
              Words{"advise 2 huge"});
    EXPECT_EQ(tell({SYS_madvise, {kAt, 2 * kPage, MADV_NOHUGEPAGE}, {}}, 0).effects,
              Words{"advise 2"});
    EXPECT_TRUE(tell({SYS_madvise, {kAt, kPage, MADV_HUGEPAGE}, {}}, -EINVAL).effects.empty());
}

TEST(MemoryCalls, OnlyWhatWasFilledIsAccessed) {
    EXPECT_EQ(tell({SYS_read, {0, kAt, 8 * kPage}, {}}, 2 * kPage).effects, Words{"access 2"});
    EXPECT_TRUE(tell({SYS_read, {0, kAt, 8 * kPage}, {}}, 0).effects.empty());
    EXPECT_EQ(tell({SYS_recvfrom, {0, kAt, kPage}, {}}, 8 * kPage).effects, Words{"access 1"});
    const iovec vectors[] = {{reinterpret_cast<void*>(kAt), 2 * kPage},
                             {reinterpret_cast<void*>(kTo), 4 * kPage}};
    const auto at = reinterpret_cast<uint64_t>(vectors);
    EXPECT_EQ(tell({SYS_readv, {0, at, 2}, {}}, 3 * kPage).effects,
              (Words{"access 2", "access 1 to"}));
}

TEST(MemoryCalls, PagesThatAreOnlyMadePresentAreNotAccessed) {
    EXPECT_EQ(tell({SYS_mlock, {kAt, 2 * kPage}, {}}, 0).effects, Words{"touch 2"});
    EXPECT_EQ(tell({SYS_madvise, {kAt, 2 * kPage, 23}, {}}, 0).effects, Words{"touch 2"});
    const SystemCall populate{
        SYS_mmap,
        {0, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE},
        {}};
    EXPECT_EQ(tell(populate, kAt).effects, (Words{"map 1", "touch 1"}));
}

TEST(MemoryCalls, ADetachThatFailsKeepsTheSegment) {
    MemoryState state;
    state.segments.insert(kAt, kAt + 2 * kPage, 0);
    const Told failed = tell(state, {SYS_shmdt, {kAt}, {}}, -EINVAL);
    EXPECT_EQ(failed.risks, Words{"unmap 2"});
    EXPECT_TRUE(failed.effects.empty());
    EXPECT_EQ(tell(state, {SYS_shmdt, {kAt}, {}}, 0).effects, Words{"unmap 2"});
    EXPECT_TRUE(tell(state, {SYS_shmdt, {kAt}, {}}, -EINVAL).risks.empty());
}

}  // namespace
}  // namespace numascape
