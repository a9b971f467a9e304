// SPDX-License-Identifier: Apache-2.0
//
// The threads that use a line which is watched (shared_lines.h), and what is known of each. The
// users of a line are accessed with the lock of that line held.
//
// A write to the line changes what is known of every other user: whether its turn goes on, and its
// foreign bytes. Every thread that writes to the line makes these changes. The data that they
// change are therefore kept apart from the rest, for kTogether users on one cache line (Group).
#pragma once

#include <atomic>
#include <cstdint>

namespace numascape {

using ByteMask = uint64_t;  // of a line, in 64 equal parts

// A user of a watched line.
class WatchedUser {
  public:
    static constexpr uint32_t kTogether = 4;

    // The time in which the thread has the line.
    struct Turn {
        uint32_t from;  // the thread that wrote the line last, if `took`
        uint32_t turns;
        bool took;        // the turn began with a transfer
        bool shared;      // ... and the thread has touched a byte that others had written
        uint8_t quiet;    // accesses since the last one that touched a new byte
        uint8_t longest;  // the largest `quiet` before a new byte, in all turns
        uint64_t from_pc;
        uint64_t to_pc;
        ByteMask read;     // in this turn
        ByteMask written;  // in this turn

        void count_quiet() { quiet = static_cast<uint8_t>(quiet + (quiet < kQuiet ? 1 : 0)); }
        // The thread touches a new byte.
        void end_quiet() {
            longest = quiet > longest ? quiet : longest;
            quiet = 0;
        }
        // Whether the thread probably touches no new byte any more in this turn.
        bool is_quiet() const {
            const bool long_turn = turns < kFirstTurns || turns % kLongTurnOneIn == 0;
            const unsigned least = 2u * longest + 1;
            return quiet >= (long_turn || least > kQuiet ? kQuiet : least);
        }
    };
    struct alignas(64) Group {
        uint32_t next;  // index, 0 = none
        uint32_t line;  // number of the watched line
        uint32_t users;
        uint32_t has;  // a bit for each user: its turn goes on
        uint32_t thread[kTogether];
        ByteMask foreign[kTogether];
    };

    bool operator==(const WatchedUser& other) const {
        return group == other.group && at == other.at;
    }
    uint32_t thread() const { return group->thread[at]; }
    // The bytes that others have written since the previous turn of the user.
    ByteMask& foreign() const { return group->foreign[at]; }
    bool has() const { return (group->has >> at & 1) != 0; }
    void take() const { group->has |= 1u << at; }
    void lose() const { group->has &= ~(1u << at); }

    Group* group = nullptr;
    uint32_t at = 0;
    Turn* turn = nullptr;  // null: there is no such user

  private:
    // After this many accesses without a new byte, a thread seldom touches a new one. A loop
    // touches all bytes of a line one after the other, or the same bytes many times.
    static constexpr uint8_t kQuiet = 16;
    // After this many turns of a thread, it is known how many accesses without a new byte come
    // before an access that touches a new one. One turn in kLongTurnOneIn still waits for kQuiet
    // such accesses.
    static constexpr uint32_t kFirstTurns = 32;
    static constexpr uint32_t kLongTurnOneIn = 32;
};

class WatchedUsers {
  public:
    using List = uint32_t;  // the users of a line: index of their first group, 0 = none

    // Reserves the address space. False when there is none.
    bool open();
    void close();
    // Called in the child of a fork.
    void forget();

    // Returns the thread as a user of the line with this number (from 1). A new user is added, with
    // these foreign bytes. The result has no turn if there is no room for another user.
    WatchedUser of(List& list, uint32_t line, uint32_t thread, ByteMask foreign);
    template <typename Visit>
    void each(List list, Visit visit) const {
        for (; list != 0; list = groups_[list].next) {
            for (uint32_t at = 0; at < groups_[list].users; ++at) {
                visit(user(list * WatchedUser::kTogether + at));
            }
        }
    }

  private:
    WatchedUser user(uint32_t index) const {
        constexpr uint32_t kTogether = WatchedUser::kTogether;
        return {&groups_[index / kTogether], index % kTogether, &turns_[index]};
    }
    WatchedUser find(uint32_t group, uint32_t thread) const;
    WatchedUser add(List& list, uint32_t line, uint32_t thread, ByteMask foreign);

    WatchedUser::Group* groups_ = nullptr;
    WatchedUser::Turn* turns_ = nullptr;      // of user k of group g: g * kTogether + k
    std::atomic<uint32_t>* found_ = nullptr;  // by hash: index in turns_, 0 = none
    std::atomic<uint32_t> used_groups_{0};
};

}  // namespace numascape
