// SPDX-License-Identifier: Apache-2.0
#include "shared_lines.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

constexpr unsigned kThreadBits = 44;
constexpr unsigned kWriterBits = 16;
constexpr LineState kHas = (LineState{1} << kThreadBits) - 1;
constexpr LineState kMaxWriter = (LineState{1} << kWriterBits) - 1;
constexpr LineState kWasTaken = LineState{1} << (kThreadBits + kWriterBits);
constexpr LineState kWatched = kWasTaken << 1;
static_assert(kThreadBits + kWriterBits + kLineFlags == 64);

constexpr uint32_t kMaxWatched = 1 << 22;
constexpr uint32_t kAllWatched = 1024;
constexpr uint64_t kWatchedOneIn = 16;

uint64_t hash_of(uint64_t line) {
    return line * 0x9e3779b97f4a7c15u >> 40;
}
LineState bit_of(uint32_t thread) {
    return LineState{1} << (thread % kThreadBits);
}
LineState writer_of(uint32_t thread) {
    const LineState writer = LineState{thread} + 1;
    return (writer < kMaxWriter ? writer : kMaxWriter) << kThreadBits;
}

}  // namespace

struct SharedLines::WatchedLine {
    WatchedUsers::List users;
    uint32_t writer;  // 1 + the thread that wrote it last, 0 = none
    uint32_t owner;   // 1 + the thread that alone has it and wrote it, 0 = none
    uint64_t writer_pc;
    ByteMask written;  // by anyone
};

LineUser SharedLines::user(uint32_t thread) {
    const LineState bit = bit_of(thread);
    return {bit << kLineFlags, (bit | writer_of(thread)) << kLineFlags};
}

bool SharedLines::open(uint32_t line_bits) {
    const uint64_t lines = uint64_t{1} << (kWindowBits - line_bits);
    states_ = map_private<LineState>(lines * sizeof(LineState));
    watched_ = map_private<uint32_t>(lines * sizeof(uint32_t));
    lines_ = map_private<WatchedLine>(kMaxWatched * sizeof(WatchedLine));
    caches_ = map_private<std::atomic<CacheModel*>>(kMaxThreads * sizeof(CacheModel*));
    stripes_ = map_private<Stripe>(kStripes * sizeof(Stripe));
    line_bits_ = line_bits;
    window_ = lines - 1;
    if (states_ == nullptr || watched_ == nullptr || lines_ == nullptr || caches_ == nullptr ||
        stripes_ == nullptr || !users_.open()) {
        close();
        return false;
    }
    return true;
}

void SharedLines::close() {
    const auto unmap = [](auto*& memory, uint64_t count) {
        if (memory != nullptr) {
            os::unmap(memory, count * sizeof *memory);
            memory = nullptr;
        }
    };
    unmap(states_, window_ + 1);
    unmap(watched_, window_ + 1);
    unmap(lines_, kMaxWatched);
    users_.close();
    unmap(caches_, kMaxThreads);
    unmap(stripes_, kStripes);
}

void SharedLines::begin_thread(uint32_t thread, CacheModel* cache) {
    if (thread >= kMaxThreads) {
        return;
    }
    caches_[thread].store(cache, std::memory_order_release);
    uint32_t known = threads_.load(std::memory_order_relaxed);
    while (known <= thread && !threads_.compare_exchange_weak(known, thread + 1)) {
    }
}

void SharedLines::end_thread(uint32_t thread) {
    if (thread < kMaxThreads) {
        caches_[thread].store(nullptr, std::memory_order_release);
    }
}

void SharedLines::after_fork(uint32_t thread, CacheModel* cache) {
    os::discard(states_, (window_ + 1) * sizeof *states_, false);
    os::discard(watched_, (window_ + 1) * sizeof *watched_, false);
    os::discard(lines_, kMaxWatched * sizeof *lines_, false);
    users_.forget();
    os::discard(caches_, kMaxThreads * sizeof *caches_, false);
    os::discard(stripes_, kStripes * sizeof *stripes_, false);
    used_lines_.store(0);
    threads_.store(0);
    cache->take_range_from_filter(0, ~uint64_t{0});
    begin_thread(thread, cache);
}

void SharedLines::forget(uint32_t first, uint32_t end) {
    if (first >= end) {
        return;
    }
    const unsigned shift = kPageShift - line_bits_;
    const uint64_t from = uint64_t{first} << shift;
    const uint64_t stop = uint64_t{end} << shift;
    constexpr uint64_t kTogether = kPageBytes / sizeof(LineState);
    for (uint64_t line = from; line < stop;) {
        const uint64_t whole = line % kTogether == 0 ? (stop - line) / kTogether : 0;
        if (whole != 0) {
            os::discard(states_ + line, whole * kPageBytes, false);
            line += whole * kTogether;
        } else {
            if (state_at(line).load(std::memory_order_relaxed) != 0) {
                state_at(line).store(0, std::memory_order_relaxed);
            }
            ++line;
        }
    }
    const uint32_t threads = threads_.load(std::memory_order_relaxed);
    for (uint32_t thread = 0; thread < threads; ++thread) {
        if (CacheModel* cache = caches_[thread].load(std::memory_order_acquire); cache != nullptr) {
            cache->take_range_from_filter(from, stop - from);
        }
    }
}

uint32_t SharedLines::page_of(uint64_t line) const {
    return static_cast<uint32_t>((line & window_) >> (kPageShift - line_bits_));
}

uint32_t SharedLines::line_in_page(uint64_t line) const {
    return static_cast<uint32_t>(line) & ((1u << (kPageShift - line_bits_)) - 1);
}

void SharedLines::take_from_thread(uint32_t thread, uint64_t line, Lost lost) {
    CacheModel* cache = caches_[thread].load(std::memory_order_acquire);
    if (cache != nullptr) {
        cache->take_from_filter(line, true);
        if (lost == Lost::kLine) {
            cache->take_from_filter(line, false);
        }
    }
}

void SharedLines::take_from(LineState holders, uint64_t line, uint32_t except, Lost lost) {
    const uint32_t threads = threads_.load(std::memory_order_relaxed);
    for (holders &= kHas; holders != 0; holders &= holders - 1) {
        auto thread = static_cast<uint32_t>(__builtin_ctzll(holders));
        for (; thread < threads; thread += kThreadBits) {
            if (thread != except) {
                take_from_thread(thread, line, lost);
            }
        }
    }
}

SharedLines::Noted SharedLines::use(uint32_t thread, uint64_t line, const Access* access,
                                    uint32_t accesses) {
    Noted noted;
    if (thread >= kMaxThreads) {
        return noted;
    }
    SpinGuard guard(stripes_[hash_of(line & window_) % kStripes].lock);
    bool stays = true;
    for (uint32_t i = 0; i < accesses; ++i) {
        const bool watched = (state_at(line).load(std::memory_order_relaxed) & kWatched) != 0;
        stays = watched ? use_watched(thread, line, access[i], noted)
                        : use_plain(thread, line, access[i], noted);
    }
    if (!stays) {
        take_from_thread(thread, line, Lost::kLine);
    }
    return noted;
}

// Returns whether the line stays in the thread's filter.
bool SharedLines::use_plain(uint32_t thread, uint64_t line, const Access& access, Noted& noted) {
    std::atomic<LineState>& state = state_at(line);
    const LineState before = state.load(std::memory_order_relaxed);
    const LineState bit = bit_of(thread);
    const LineState writer = before & (kMaxWriter << kThreadBits);
    const bool written_by_other = writer != 0 && writer != writer_of(thread);
    if ((before & bit) == 0 && written_by_other) {
        const auto from = static_cast<uint32_t>(writer >> kThreadBits) - 1;
        const bool travels = (before & kWasTaken) != 0;
        noted = {true, {page_of(line), line_in_page(line), from, travels, false, 0, 0, 0, 0, 1, 0}};
    }
    if (!access.write) {
        if ((before & bit) == 0) {
            const LineState holders = before & kHas;
            if (writer != 0 && (holders & (holders - 1)) == 0) {  // a single holder may write it
                take_from(holders, line, thread, Lost::kOwnership);
            }
            state.store(before | bit, std::memory_order_relaxed);
        }
        return true;
    }
    const bool taken = (before & kHas & ~bit) != 0 || written_by_other;
    if (taken) {
        take_from(before, line, thread, Lost::kLine);
        if ((before & kWasTaken) != 0) {
            if (WatchedLine* watched = watch(line); watched != nullptr) {
                if (const WatchedUser user = user_of(*watched, thread); user.turn != nullptr) {
                    state.store(kWatched, std::memory_order_relaxed);
                    user.take();
                    user.turn->took = false;
                    user.turn->quiet = 0;
                    user.turn->read = 0;
                    user.turn->written = access.bytes;
                    write_watched(*watched, user, line, access);
                    return false;
                }
            }
        }
    }
    state.store(bit | writer_of(thread) | (before & kWasTaken) | (taken ? kWasTaken : 0),
                std::memory_order_relaxed);
    return true;
}

bool SharedLines::use_watched(uint32_t thread, uint64_t line, const Access& access, Noted& noted) {
    WatchedLine& watched = lines_[watched_[line & window_]];
    const WatchedUser user = user_of(watched, thread);
    if (user.turn == nullptr) {
        return false;
    }
    if (user.has()) {
        note_bytes(user, line, access, noted);
    } else {
        begin_turn(watched, user, line, access, noted);
    }
    if (access.write) {
        write_watched(watched, user, line, access);
    } else if (watched.owner != 0 && watched.owner != thread + 1) {
        take_from_thread(watched.owner - 1, line, Lost::kOwnership);
        watched.owner = 0;
    }
    return user.turn->is_quiet();
}

void SharedLines::begin_turn(const WatchedLine& watched, const WatchedUser& user, uint64_t line,
                             const Access& access, Noted& noted) const {
    WatchedUser::Turn& turn = *user.turn;
    user.take();
    turn.turns += 1;
    turn.took = watched.writer != 0 && watched.writer != user.thread() + 1;
    turn.shared = (access.bytes & user.foreign()) != 0;
    turn.quiet = 0;
    turn.from = watched.writer - 1;
    turn.from_pc = watched.writer_pc;
    turn.to_pc = access.pc;
    turn.read = access.write ? 0 : access.bytes;
    turn.written = access.write ? access.bytes : 0;
    if (turn.took) {
        noted = noted_of(user, line);
        noted.transfer.transfers = 1;
        noted.transfer.shared = turn.shared ? 1 : 0;
    }
}

// Notes the bytes of further accesses in a turn.
void SharedLines::note_bytes(const WatchedUser& user, uint64_t line, const Access& access,
                             Noted& noted) const {
    WatchedUser::Turn& turn = *user.turn;
    ByteMask& known = access.write ? turn.written : turn.read;
    if ((access.bytes & ~known) == 0) {
        turn.count_quiet();
        return;
    }
    turn.end_quiet();
    const bool anew = (access.bytes & ~(turn.read | turn.written)) != 0;
    known |= access.bytes;
    if (!turn.took || !anew) {
        return;
    }
    const bool shared_now = !turn.shared && (access.bytes & user.foreign()) != 0;
    turn.shared = turn.shared || shared_now;
    if (noted.any && noted.transfer.watched) {
        noted.transfer.to_bytes = turn.read | turn.written;
    } else {
        noted = noted_of(user, line);
    }
    noted.transfer.shared += shared_now ? 1 : 0;
}

SharedLines::Noted SharedLines::noted_of(const WatchedUser& user, uint64_t line) const {
    const WatchedUser::Turn& turn = *user.turn;
    return {true,
            {page_of(line), line_in_page(line), turn.from, true, true, turn.from_pc, turn.to_pc,
             user.foreign(), turn.read | turn.written, 0, 0}};
}

void SharedLines::write_watched(WatchedLine& watched, const WatchedUser& writer, uint64_t line,
                                const Access& access) {
    users_.each(watched.users, [&](const WatchedUser& user) {
        if (user == writer) {
            return;
        }
        if (user.has()) {
            user.lose();
            user.foreign() = 0;
            take_from_thread(user.thread(), line, Lost::kLine);
        }
        user.foreign() |= access.bytes;
    });
    watched.written |= access.bytes;
    watched.writer = writer.thread() + 1;
    watched.owner = writer.thread() + 1;
    watched.writer_pc = access.pc;
}

// Null if the line is not chosen, or if there is no room for more. A line that was watched before
// it was forgotten keeps its place.
SharedLines::WatchedLine* SharedLines::watch(uint64_t line) {
    uint32_t& index = watched_[line & window_];
    if (index == 0) {
        const uint32_t used = used_lines_.load(std::memory_order_relaxed);
        const bool chosen =
            used < kAllWatched || (hash_of(line & window_) >> 8) % kWatchedOneIn == 0;
        if (!chosen || used >= kMaxWatched - 1) {
            return nullptr;
        }
        const uint32_t next = used_lines_.fetch_add(1) + 1;
        index = next < kMaxWatched ? next : 0;
        return index == 0 ? nullptr : &lines_[index];
    }
    WatchedLine& again = lines_[index];
    users_.each(again.users, [](const WatchedUser& user) {
        user.lose();
        user.foreign() = 0;
    });
    again.written = 0;
    again.writer = 0;
    again.owner = 0;
    return &again;
}

WatchedUser SharedLines::user_of(WatchedLine& watched, uint32_t thread) {
    const auto number = static_cast<uint32_t>(&watched - lines_);
    return users_.of(watched.users, number, thread, watched.written);
}

}  // namespace numascape
