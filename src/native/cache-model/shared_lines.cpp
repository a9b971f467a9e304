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
constexpr uint32_t kGroup = 4;  // users
constexpr uint32_t kMaxGroups = 1 << 22;
constexpr uint32_t kFoundUsers = 1 << 16;
constexpr uint32_t kAllWatched = 1024;
constexpr uint64_t kWatchedOneIn = 16;
// After this many accesses without a new byte, a thread seldom touches a new one. A loop touches
// all bytes of a line one after the other, or the same bytes many times.
constexpr uint8_t kQuiet = 16;
// After so many turns of a thread it is known how many accesses without a new byte come before one
// that touches a new byte. One turn in kLongTurnOneIn still waits for kQuiet of them.
constexpr uint32_t kFirstTurns = 32;
constexpr uint32_t kLongTurnOneIn = 32;

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

// A thread that uses a watched line. Its *turn* is the time in which it has the line.
struct SharedLines::User {
    uint32_t from;  // of the transfer with which the turn began
    uint32_t turns;
    bool took;        // the turn began with a transfer
    bool shared;      // ... and the thread has touched a byte that others had written
    uint8_t quiet;    // accesses since the last one that touched a new byte
    uint8_t longest;  // the most of these before a new byte, in all turns
    uint64_t from_pc;
    uint64_t to_pc;
    ByteMask read;     // in this turn
    ByteMask written;  // in this turn

    // Whether the thread touches no new byte any more in this turn.
    bool is_quiet() const {
        const bool long_turn = turns < kFirstTurns || turns % kLongTurnOneIn == 0;
        const unsigned least = 2u * longest + 1;
        return quiet >= (long_turn || least > kQuiet ? kQuiet : least);
    }
};

// What a write of a watched line changes for other users; on one cache line.
struct alignas(64) SharedLines::UserGroup {
    uint32_t next;     // index, 0 = none
    uint32_t watched;  // index of the WatchedLine
    uint32_t users;
    uint32_t has;  // bit for each user: its turn goes on
    uint32_t thread[kGroup];
    ByteMask foreign[kGroup];  // written by others since the user's turn before
};

// A user in its group; `user` is null if there is none.
struct SharedLines::UserPlace {
    UserGroup* group = nullptr;
    uint32_t at = 0;
    User* user = nullptr;

    uint32_t thread() const { return group->thread[at]; }
    ByteMask foreign() const { return group->foreign[at]; }
    bool has() const { return (group->has >> at & 1) != 0; }
    void take() const { group->has |= 1u << at; }
    void lose() const { group->has &= ~(1u << at); }
};

struct SharedLines::WatchedLine {
    uint32_t first_group;
    uint32_t writer;  // 1 + the last one, 0 = none
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
    groups_ = map_private<UserGroup>(kMaxGroups * sizeof(UserGroup));
    users_ = map_private<User>(uint64_t{kMaxGroups} * kGroup * sizeof(User));
    found_users_ = map_private<std::atomic<uint32_t>>(kFoundUsers * sizeof(uint32_t));
    caches_ = map_private<std::atomic<CacheModel*>>(kMaxThreads * sizeof(CacheModel*));
    stripes_ = map_private<Stripe>(kStripes * sizeof(Stripe));
    line_bits_ = line_bits;
    window_ = lines - 1;
    if (states_ == nullptr || watched_ == nullptr || lines_ == nullptr || groups_ == nullptr ||
        users_ == nullptr || found_users_ == nullptr || caches_ == nullptr || stripes_ == nullptr) {
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
    unmap(groups_, kMaxGroups);
    unmap(users_, uint64_t{kMaxGroups} * kGroup);
    unmap(found_users_, kFoundUsers);
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
    os::discard(groups_, kMaxGroups * sizeof *groups_, false);
    os::discard(users_, uint64_t{kMaxGroups} * kGroup * sizeof *users_, false);
    os::discard(found_users_, kFoundUsers * sizeof *found_users_, false);
    os::discard(caches_, kMaxThreads * sizeof *caches_, false);
    os::discard(stripes_, kStripes * sizeof *stripes_, false);
    used_lines_.store(0);
    used_groups_.store(0);
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
            if (writer != 0 && (holders & (holders - 1)) == 0) {  // only a single one may write it
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
                if (const UserPlace place = user_of(*watched, thread); place.user != nullptr) {
                    state.store(kWatched, std::memory_order_relaxed);
                    place.take();
                    place.user->took = false;
                    place.user->quiet = 0;
                    place.user->read = 0;
                    place.user->written = access.bytes;
                    write_watched(*watched, place, line, access);
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
    const UserPlace place = user_of(watched, thread);
    if (place.user == nullptr) {
        return false;
    }
    if (place.has()) {
        note_bytes(place, line, access, noted);
    } else {
        begin_turn(watched, place, line, access, noted);
    }
    if (access.write) {
        write_watched(watched, place, line, access);
    } else if (watched.owner != 0 && watched.owner != thread + 1) {
        take_from_thread(watched.owner - 1, line, Lost::kOwnership);
        watched.owner = 0;
    }
    return place.user->is_quiet();
}

void SharedLines::begin_turn(const WatchedLine& watched, const UserPlace& place, uint64_t line,
                             const Access& access, Noted& noted) const {
    User& user = *place.user;
    place.take();
    user.turns += 1;
    user.took = watched.writer != 0 && watched.writer != place.thread() + 1;
    user.shared = (access.bytes & place.foreign()) != 0;
    user.quiet = 0;
    user.from = watched.writer - 1;
    user.from_pc = watched.writer_pc;
    user.to_pc = access.pc;
    user.read = access.write ? 0 : access.bytes;
    user.written = access.write ? access.bytes : 0;
    if (user.took) {
        noted = noted_of(place, line);
        noted.transfer.transfers = 1;
        noted.transfer.shared = user.shared ? 1 : 0;
    }
}

// Further accesses in a turn.
void SharedLines::note_bytes(const UserPlace& place, uint64_t line, const Access& access,
                             Noted& noted) const {
    User& user = *place.user;
    ByteMask& known = access.write ? user.written : user.read;
    if ((access.bytes & ~known) == 0) {
        user.quiet = static_cast<uint8_t>(user.quiet + (user.quiet < kQuiet ? 1 : 0));
        return;
    }
    user.longest = user.quiet > user.longest ? user.quiet : user.longest;
    user.quiet = 0;
    const bool anew = (access.bytes & ~(user.read | user.written)) != 0;
    known |= access.bytes;
    if (!user.took || !anew) {
        return;
    }
    const bool shared_now = !user.shared && (access.bytes & place.foreign()) != 0;
    user.shared = user.shared || shared_now;
    if (noted.any && noted.transfer.watched) {
        noted.transfer.to_bytes = user.read | user.written;
    } else {
        noted = noted_of(place, line);
    }
    noted.transfer.shared += shared_now ? 1 : 0;
}

SharedLines::Noted SharedLines::noted_of(const UserPlace& place, uint64_t line) const {
    const User& user = *place.user;
    return {true,
            {page_of(line), line_in_page(line), user.from, true, true, user.from_pc, user.to_pc,
             place.foreign(), user.read | user.written, 0, 0}};
}

void SharedLines::write_watched(WatchedLine& watched, const UserPlace& writer, uint64_t line,
                                const Access& access) {
    for (uint32_t i = watched.first_group; i != 0; i = groups_[i].next) {
        UserGroup& group = groups_[i];
        for (uint32_t at = 0; at < group.users; ++at) {
            if (&group == writer.group && at == writer.at) {
                continue;
            }
            const UserPlace place{&group, at};
            if (place.has()) {
                place.lose();
                group.foreign[at] = 0;
                take_from_thread(place.thread(), line, Lost::kLine);
            }
            group.foreign[at] |= access.bytes;
        }
    }
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
    for (uint32_t i = again.first_group; i != 0; i = groups_[i].next) {
        UserGroup& group = groups_[i];
        group.has = 0;
        for (ByteMask& bytes : group.foreign) {
            bytes = 0;
        }
    }
    again.written = 0;
    again.writer = 0;
    again.owner = 0;
    return &again;
}

SharedLines::UserPlace SharedLines::place_of(uint32_t index) const {
    return {&groups_[index / kGroup], index % kGroup, &users_[index]};
}

// Its `user` is null if there is no room for another one.
SharedLines::UserPlace SharedLines::user_of(WatchedLine& watched, uint32_t thread) {
    const uint32_t first = watched.first_group;
    UserPlace place = find_user(first, thread);
    if (place.user != nullptr) {
        return place;
    }
    if (first == 0 || groups_[first].next == 0) {
        return add_user(watched, thread);
    }
    const auto number = static_cast<uint32_t>(&watched - lines_);
    std::atomic<uint32_t>& found =
        found_users_[hash_of(uint64_t{number} << 20 | thread) % kFoundUsers];
    const UserPlace known = place_of(found.load(std::memory_order_relaxed));
    if (known.group->watched == number && known.thread() == thread) {
        return known;
    }
    for (uint32_t i = groups_[first].next; i != 0 && place.user == nullptr; i = groups_[i].next) {
        place = find_user(i, thread);
    }
    if (place.user == nullptr) {
        place = add_user(watched, thread);
    }
    if (place.user != nullptr) {
        found.store(static_cast<uint32_t>(place.user - users_), std::memory_order_relaxed);
    }
    return place;
}

SharedLines::UserPlace SharedLines::find_user(uint32_t group, uint32_t thread) const {
    for (uint32_t at = 0; at < groups_[group].users; ++at) {
        if (groups_[group].thread[at] == thread) {
            return place_of(group * kGroup + at);
        }
    }
    return {};
}

SharedLines::UserPlace SharedLines::add_user(WatchedLine& watched, uint32_t thread) {
    if (watched.first_group == 0 || groups_[watched.first_group].users == kGroup) {
        if (used_groups_.load(std::memory_order_relaxed) >= kMaxGroups - 1) {
            return {};
        }
        const uint32_t next = used_groups_.fetch_add(1) + 1;
        if (next >= kMaxGroups) {
            return {};
        }
        groups_[next].next = watched.first_group;
        groups_[next].watched = static_cast<uint32_t>(&watched - lines_);
        watched.first_group = next;
    }
    UserGroup& group = groups_[watched.first_group];
    const uint32_t at = group.users++;
    group.thread[at] = thread;
    group.foreign[at] = watched.written;  // nothing of it is the thread's own
    return place_of(watched.first_group * kGroup + at);
}

}  // namespace numascape
