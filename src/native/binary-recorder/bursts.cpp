// SPDX-License-Identifier: Apache-2.0
#include "bursts.h"

#include "block_heads.h"
#include "burst_cost.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

// xorshift64 (G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8, 2003).
uint64_t next_random(uint64_t& state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// The work is divided into periods of a burst and a gap. The burst of a period is at a random
// place. Each unit has the same chance to be in a burst, because all periods have the same share of
// it.
uint64_t random_offset(BurstState& state) {
    return next_random(state.random) % (state.gap_units + 1);
}

// The gaps of a level of the share; see ShardHeader::burst_levels.
void choose_gap(BurstState& state) {
    const uint64_t periods = uint64_t{2} << state.level;
    state.gap_units = holds_cost() ? state.burst_units * (periods - 1)
                                   : options.gap_units * (state.burst_units / options.burst_units);
}

// The first bursts are short, so that short runs have enough of them. If a burst takes little time,
// it costs about as much to begin and end it, so the next ones are longer. A unit takes 10 ns to
// 1 us, depending on the program.
void lengthen_short_bursts(BurstState& state) {
    constexpr uint64_t kShortTicks = 1 << 15;  // 8 to 16 us
    constexpr uint64_t kMostUnits = 1000;
    // Each group has equally many bursts of each length.
    if (++state.equal_bursts % kBurstGroups == 0 && state.burst_units < kMostUnits &&
        os::ticks() - state.began < kShortTicks) {
        state.burst_units *= 2;
        state.equal_bursts = 0;
    }
}

// A share is in force for whole periods, so that each unit of a period has the same chance; and
// until each group has equally many of its bursts.
void choose_level(ThreadRecorder& recorder) {
    BurstState& state = recorder.bursts;
    state.rest_level = state.level;
    if (!holds_cost() || state.work[state.level].bursts % kBurstGroups != 0) {
        return;
    }
    const uint32_t level = affordable_level();
    if (level != state.level && shard.has_room_for_level(recorder, level)) {
        state.level = level;
    }
}

void begin_burst(ThreadRecorder& recorder) {
    BurstState& state = recorder.bursts;
    BurstWork& work = state.work[state.level];
    shard.choose_group(recorder, state.level, static_cast<uint32_t>(work.bursts % kBurstGroups));
    ++work.bursts;
    work.burst_units = state.burst_units;
    state.length = state.first_length != 0 ? state.first_length : state.burst_units;
    state.first_length = 0;
    state.began = os::ticks();
}

void end_burst(ThreadRecorder& recorder) {
    BurstState& state = recorder.bursts;
    stop_sampling(recorder);
    state.rest = state.gap_units - state.offset;
    lengthen_short_bursts(state);
    choose_level(recorder);
    choose_gap(state);
    state.offset = random_offset(state);
    state.length = state.rest + state.offset;
}

void set_units_left(uint64_t units) {
    write_thread_slot(ThreadSlot::kUnits, reinterpret_cast<const void*>(units));
}

void block_placed(app_pc pc, byte* start, uint bytes) {
    ThreadRecorder* recorder = self();
    if (recorder == nullptr || detached) {
        return;
    }
    cost_block_built(recorder->bursts);
    auto* record = static_cast<PlacedCodeRecord*>(
        shard.append(*recorder, RecordType::kPlacedCode, 0, sizeof(PlacedCodeRecord)));
    record->time = os::ticks();
    record->start = reinterpret_cast<uint64_t>(start);
    record->bytes = bytes;
    record->pc = reinterpret_cast<uint64_t>(pc);
    shard.commit(*recorder, record);
}

}  // namespace

bool bursts() {
    return options.burst_units != 0;
}

void bursts_init() {
    if (bursts()) {
        dr_register_block_placed_event(block_placed);
        cost_init();
    }
}

bool builds_plain_block(void* drcontext) {
    return bursts() && !dr_builds_second_copy(drcontext);
}

void units_ran_out(app_pc start, uint64_t units) {
    ThreadRecorder* recorder = self();
    if (recorder == nullptr || recorder->current.load(std::memory_order_relaxed) == nullptr) {
        set_units_left(~uint64_t{0} >> 1);
        return;
    }
    BurstState& state = recorder->bursts;
    const uint64_t unused =
        reinterpret_cast<uint64_t>(read_thread_slot(ThreadSlot::kUnits)) + units;
    const uint64_t done = state.length - unused;
    state.add(done);
    if (state.counting) {
        end_burst(*recorder);
        cost_burst_ends(state, done);
    } else {
        cost_gap_ends(state, done);
        begin_burst(*recorder);
    }
    state.counting = !state.counting;
    set_units_left(state.length);
    dr_mcontext_t context;
    context.size = sizeof context;
    context.flags = DR_MC_ALL;
    dr_get_mcontext(dr_get_current_drcontext(), &context);
    context.pc = start;
    dr_choose_copy(state.counting);
    dr_redirect_execution(&context);
}

void start_bursts(ThreadRecorder& recorder) {
    BurstState& state = recorder.bursts;
    state = {};
    state.burst_units = options.burst_units;
    state.level = state.rest_level = holds_cost() ? affordable_level() : 0;
    choose_gap(state);
    state.left = reinterpret_cast<const int64_t*>(thread_slots() +
                                                  static_cast<unsigned>(ThreadSlot::kUnits));
    state.random = (os::ticks() ^ uint64_t{recorder.thread} * 0x9e3779b97f4a7c15u) | 1;
    state.offset = random_offset(state);
    // The thread begins at a random place of a period. So each unit has the same chance, also the
    // first ones.
    const uint64_t begins = next_random(state.random) % (state.burst_units + state.gap_units);
    const uint64_t burst_ends = state.offset + state.burst_units;
    if (begins < state.offset) {
        state.length = state.offset - begins;
    } else if (begins < burst_ends) {
        state.first_length = burst_ends - begins;
    } else {
        const uint64_t rest_of_period = state.burst_units + state.gap_units - begins;
        state.offset = random_offset(state);
        state.length = rest_of_period + state.offset;
    }
    if (holds_cost() && !shard.has_room_for_level(recorder, state.level)) {
        shard.set_flag(kShardThreadsLost);
        state.length = ~uint64_t{0} >> 1;  // it has no burst
    }
    write_thread_slot(ThreadSlot::kIndirect, nullptr);
    set_units_left(state.length);
}

void bursts_after_fork(ThreadRecorder& recorder) {
    cost_after_fork();
    BurstState& state = recorder.bursts;
    const int64_t left = state.left == nullptr ? 0 : *state.left;
    const uint64_t length = left < 0 ? 0 : static_cast<uint64_t>(left);
    const uint64_t done = state.length - length;
    for (BurstWork& work : state.work) {
        work = {};
    }
    state.equal_bursts = 0;
    state.began_ns = state.ended_ns = 0;  // the clock of the thread begins again
    state.rest = done < state.rest ? state.rest - done : 0;
    state.length = length;
}

}  // namespace numascape
