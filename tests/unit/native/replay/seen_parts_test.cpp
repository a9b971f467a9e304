// SPDX-License-Identifier: Apache-2.0
#include "seen_parts.h"

#include <gtest/gtest.h>

#include <vector>

#include "seen_lines.h"
#include "seen_on_pages.h"
#include "thread_lives.h"

namespace numascape {
namespace {

SampleRecord sample_of(const SeenParts& seen, uint64_t weight, uint32_t samples) {
    SampleRecord record{};
    record.weight = weight;
    record.seen = seen;
    record.samples = samples;
    return record;
}

std::vector<double> weights(const std::vector<PageShares::Share>& shares) {
    std::vector<double> found;
    for (const PageShares::Share& share : shares) {
        found.push_back(share.weight);
    }
    return found;
}

TEST(SeenParts, AnAccessUsesLinesAndBytes) {
    EXPECT_EQ(seen_parts(0x1000, 0, 8).lines, 1u);
    EXPECT_EQ(seen_parts(0x1000, 0, 8).bytes, 0xffu);
    EXPECT_EQ(seen_parts(0x1040, 4, 4).lines, 2u);
    EXPECT_EQ(seen_parts(0x1040, 4, 4).bytes, 0xf0u);
    EXPECT_EQ(seen_parts(0x1000, 0, 64).bytes, ~uint64_t{0});
    EXPECT_EQ(seen_parts(0x1000, 0, 4096).lines, ~uint64_t{0});
}

TEST(SeenParts, OfSeveralLinesTheFirstAndTheLastByteAreKnown) {
    EXPECT_EQ(seen_parts(0x1000, 60, 8).lines, 3u);
    EXPECT_EQ(seen_parts(0x1000, 60, 8).first(), 60u);
    EXPECT_EQ(seen_parts(0x1000, 60, 8).last(), 67u);
    EXPECT_EQ(seen_parts(0x1044, 4, 8).first(), 72u);
    EXPECT_EQ(seen_parts(0x1044, 4, 8).last(), 79u);
}

TEST(SeenParts, OnlyThePageOfTheAddressCounts) {
    EXPECT_EQ(seen_parts(0x1ff8, 0, 16).lines, uint64_t{1} << 63);
    EXPECT_EQ(seen_parts(0x1ff8, 0, 16).bytes, 0xffull << 56);
    EXPECT_EQ(seen_parts(0x1ff8, 8, 8).lines, 0u);
    EXPECT_EQ(seen_parts(0x1000, 0, 0).lines, 0u);
}

TEST(SeenParts, PartsOfOneLineAreJoinedWithTheirBytes) {
    SeenParts seen = seen_parts(0x1000, 0, 4);
    seen |= seen_parts(0x1000, 8, 4);
    EXPECT_EQ(seen.bytes, 0xf0fu);
    seen |= {};
    EXPECT_EQ(seen.bytes, 0xf0fu);
    seen |= seen_parts(0x1000, 64, 4);
    EXPECT_EQ(seen.lines, 3u);
    EXPECT_EQ(seen.first(), 0u);
    EXPECT_EQ(seen.last(), 67u);
    seen |= seen_parts(0x1000, 200, 8);
    EXPECT_EQ(seen.lines, 11u);
    EXPECT_EQ(seen.last(), 207u);
}

TEST(PageParts, BytesAndSamplesMeetInGranulesOf16Bytes) {
    const auto sample = [](uint64_t offset, uint64_t size) {
        return PageParts::of(seen_parts(0, offset, size));
    };
    const PageParts block = PageParts::of(1000, 80);
    EXPECT_TRUE(block.meets(sample(1000, 4)));
    EXPECT_TRUE(block.meets(sample(1072, 8)));
    EXPECT_FALSE(block.meets(sample(1088, 8)));
    EXPECT_FALSE(block.meets(sample(976, 16)));
    EXPECT_TRUE(block.meets(sample(900, 200)));
    EXPECT_FALSE(PageParts::of(832, 64).meets(sample(896, 200)));  // in the first line, behind it
    EXPECT_FALSE(PageParts::of(896, 64).meets(sample(830, 64)));
    EXPECT_EQ(block.bytes_in(sample(900, 200)), 96u);  // in granules
    EXPECT_TRUE(PageParts::every().contains(block));
    EXPECT_FALSE(block.contains(sample(990, 16)));
    EXPECT_TRUE(PageParts::of(0, 4096) == PageParts::every());
    EXPECT_TRUE(PageParts::of(4000, 4096) == PageParts::of(4000, 96));
    EXPECT_FALSE(PageParts::of(0, 0).meets(PageParts::every()));
    PageParts both = PageParts::of(0, 1024);
    both |= PageParts::of(1024, 3072);
    EXPECT_TRUE(both == PageParts::every());
}

TEST(SeenOnPages, SamplesDivideThePageAmongOwnersOfLines) {
    SeenOnPages seen;
    seen.add(7, 1, sample_of(seen_at(0x0), 900, 12));
    seen.add(7, 1, sample_of(seen_at(0x40), 300, 4));
    const std::vector<PageShares::Share> shares{{1, 64, PageParts::of(0, 64)},
                                                {2, 192, PageParts::of(64, 128)}};
    // Twelve of 16 samples, with a quarter of four more; and the rest.
    EXPECT_EQ(weights(seen.as_seen(7, 1, shares)), (std::vector<double>{13, 7}));
}

TEST(SeenOnPages, OwnersOfOneGranuleShareItByBytes) {
    SeenOnPages seen;
    seen.add(7, 1, sample_of(seen_at(0x0), 100, 16));
    const std::vector<PageShares::Share> shares{{1, 48, PageParts::of(0, 8)},
                                                {2, 16, PageParts::of(8, 8)}};
    EXPECT_EQ(weights(seen.as_seen(7, 1, shares)), (std::vector<double>{15, 5}));
}

TEST(SeenOnPages, WithoutSamplesOfBlocksBytesDecide) {
    SeenOnPages seen;
    seen.add(7, 1, sample_of(seen_at(0x800), 100, 16));
    const std::vector<PageShares::Share> shares{{1, 48, PageParts::of(0, 48)},
                                                {2, 16, PageParts::of(64, 16)}};
    const std::vector<double> by_bytes{48, 16};
    EXPECT_EQ(weights(seen.as_seen(7, 1, shares)), by_bytes);  // a line between blocks
    EXPECT_EQ(weights(seen.as_seen(7, 2, shares)), by_bytes);  // another thread
    EXPECT_EQ(weights(seen.as_seen(8, 1, shares)), by_bytes);  // another page
}

TEST(SeenOnPages, EachPhaseIsDividedByItsOwnSamples) {
    SeenOnPages seen;
    const auto sample = [](const SeenParts& parts, uint32_t phase, uint64_t time) {
        SampleRecord record = sample_of(parts, 100, 16);
        record.phase = phase;
        record.time = time;
        return record;
    };
    seen.add(7, 1, sample(seen_at(0x0), 1, 10), true);
    seen.add(7, 1, sample(seen_at(0x40), 2, 20), true);
    const std::vector<PageShares::Share> shares{{1, 64, PageParts::of(0, 64)},
                                                {2, 64, PageParts::of(64, 64)}};
    const auto all = seen.as_seen(7, 1, shares, 0, 100);
    EXPECT_EQ(weights(all), (std::vector<double>{18, 18}));
    // All 16 samples of the phase, and half of four that stand for the others.
    EXPECT_EQ(weights(seen.in_phase({7, 1, 1}, shares, all, 0, 100)), (std::vector<double>{18, 2}));
    EXPECT_EQ(weights(seen.in_phase({7, 1, 2}, shares, all, 0, 100)), (std::vector<double>{2, 18}));
    EXPECT_FALSE(seen.tells({7, 1, 3}));
    EXPECT_EQ(weights(seen.in_phase({7, 1, 3}, shares, all, 0, 100)), weights(all));
    for (uint32_t phase = 3; phase < 100; ++phase) {
        seen.add(7, 1, sample(seen_at(0x0), phase, 30), true);
    }
    EXPECT_FALSE(seen.tells({7, 1, 1})) << "very many phases";
}

PageShares::Share alive(uint32_t owner, const PageParts& parts, uint64_t begin, uint64_t end) {
    return {owner, static_cast<double>(end - begin), parts, begin, end};
}

SampleRecord sample_at(uint64_t address, uint64_t time, uint64_t weight) {
    SampleRecord record = sample_of(seen_at(address), weight, 4);
    record.time = time;
    return record;
}

TEST(SeenOnPages, ASampleBelongsToTheBlockThatWasThereThen) {
    SeenOnPages seen;
    seen.add(7, 1, sample_at(0x0, 150, 60), true);   // of the first
    seen.add(7, 1, sample_at(0x0, 250, 100), true);  // after it, before the second
    seen.add(7, 1, sample_at(0x0, 350, 40), true);
    seen.add(7, 1, sample_at(0x800, 350, 200), true);
    seen.add(7, 1, sample_at(0x0, 2000, 9999), true);  // later than the counts
    const auto end = PageParts::of(0, 64);
    const std::vector<PageShares::Share> shares{
        alive(1, end, 100, 200), alive(2, end, 300, 400), {3, 200, PageParts::of(0, 4096)}};
    // Of 16 samples by times, and of four by weight.
    EXPECT_EQ(
        weights(seen.as_seen(7, 1, shares, 100, 1000)),
        (std::vector<double>{16 * 60 / 400.0 + 1, 16 * 40 / 400.0 + 1, 16 * 300 / 400.0 + 2}));
}

TEST(SeenOnPages, ABlockGetsWhatWasSeenSinceTheOneBeforeEnded) {
    SeenOnPages seen;
    seen.add(7, 1, sample_at(0x0, 250, 100), true);
    const auto end = PageParts::of(0, 64);
    const std::vector<PageShares::Share> shares{alive(1, end, 100, 200), alive(2, end, 300, 400)};
    EXPECT_EQ(weights(seen.as_seen(7, 1, shares, 100, 1000)), (std::vector<double>{2, 6}));
}

TEST(PageShares, WhatAnAccessUsedOfSeveralBlocksDividesIt) {
    const std::vector<PageShares::Share> shares{{1, 640, PageParts::of(0, 640)},
                                                {2, 320, PageParts::of(640, 320)}};
    const auto owners = PageShares::narrow(shares, PageParts::of(seen_parts(0, 608, 128)), 0, 1);
    EXPECT_EQ(weights(owners), (std::vector<double>{32, 96}));
}

TEST(SeenLines, OnlyPagesOfSeveralThreadsAreKept) {
    SeenLines lines;
    lines.add(0, 5, 1, sample_of(seen_at(0x0), 10, 1), {true, false});
    lines.add(0, 5, 2, sample_of(seen_at(0x4), 20, 1), {false, true});
    lines.add(0, 5, 2, sample_of(seen_at(0x80), 3, 1), {false, true});
    lines.add(0, 5, 2, sample_of(seen_at(0xc0), 4, 1), {false, false});
    lines.add(0, 6, 1, sample_of(seen_at(0x0), 10, 1), {false, false});
    SeenLineColumns out;
    lines.finish(out);
    using Numbers = std::vector<uint64_t>;
    EXPECT_EQ(out.page, (std::vector<uint32_t>{5, 5, 5}));
    EXPECT_EQ(out.thread, (std::vector<uint32_t>{1, 2, 2}));
    // The line of both threads alone; the other lines together.
    EXPECT_EQ(out.line, (std::vector<uint32_t>{0, 0, SeenLineColumns::kWholePage}));
    EXPECT_EQ(out.lines, (Numbers{1, 1, 12}));
    EXPECT_EQ(out.bytes, (Numbers{1, 16, 0}));
    EXPECT_EQ(out.times, (Numbers{10, 20, 7}));
    EXPECT_EQ(out.alone, (Numbers{10, 0, 0}));
    EXPECT_EQ(out.writing, (Numbers{0, 20, 3}));
}

TEST(ThreadLives, OneThreadLivesBeforeAndAfterTheOthers) {
    ThreadLives lives;
    lives.start(10);
    lives.end(100);
    lives.start(30);
    lives.end(60);
    lives.sort();
    EXPECT_TRUE(lives.one_at(5));
    EXPECT_TRUE(lives.one_at(29));
    EXPECT_FALSE(lives.one_at(30));
    EXPECT_FALSE(lives.one_at(59));
    EXPECT_TRUE(lives.one_at(60));
    EXPECT_TRUE(lives.one_at(200));
}

}  // namespace
}  // namespace numascape
