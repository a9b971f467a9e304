// SPDX-License-Identifier: Apache-2.0
//
// Follows which thread has each cache line, as in a machine with large, coherent caches, to find
// the lines that travel between threads. The result is exact for the order in which the recorder
// sees the accesses. But in lines that are not watched, threads whose numbers differ by a multiple
// of 44 count as one thread.
//
// Each line has a *state*, a word that the inlined code checks whenever its filter (cache_model.h)
// does not know the line:
//
//   bits  0-43  the threads that have the line as it was last written: bit = thread % 44
//   bits 44-59  1 + the thread that wrote it last, 0 = nobody
//   bit  60     a thread wrote it after another thread had it
//   bit  61     the line is watched; all other bits are then 0
//
// A thread that has the line may read it. It may also write it if no other thread has the line, and
// if this thread wrote it last. Any other access calls use(): the line *moves*. The threads that
// lose the line also lose the entries of their filters, so their next access asks again. An access
// to a line that another thread has written after the last access by this thread is a *transfer*.
//
// A line *travels* if, for the second time, a thread writes it after others had it. The first time
// may be its initialisation. The first kAllWatched lines that travel are *watched*. So is one in
// kWatchedOneIn of the others, chosen by its address. If a line is watched, use() sees each access
// to it with its bytes, until some accesses of a thread in a row have touched no new byte. It is
// then known whether the thread touched a byte that others wrote since it had the line (true
// sharing) or not (false sharing). A thread that waits for another one reads the same bytes many
// times in every turn. Therefore, if a thread has never touched a new byte late in its turns, use()
// sees fewer of its accesses.
//
// Only use() writes memory that other threads use. The state of a line is written with the lock of
// its stripe held. The inlined code reads it without the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache_model.h"
#include "spin_lock.h"
#include "watched_users.h"

namespace numascape {

using LineState = uint64_t;

// A thread as the inlined code knows it. Both members are compared with a state that is shifted
// left by kLineFlags, which removes its flags.
struct LineUser {
    LineState has;   // if a bit is common: the thread has the line
    LineState owns;  // if equal: no other thread has it, and this one wrote it last
};

inline constexpr unsigned kLineFlags = 4;  // the highest bits of a state, above threads and writer

// Describes how one thread took a line. `page` is that of the window.
struct Transfer {
    uint32_t page;
    uint32_t line;  // in its page
    uint32_t from;  // the thread that wrote it last
    bool travels;   // the line had been taken before
    bool watched;   // if false, only `transfers` is known below
    uint64_t from_pc;
    uint64_t to_pc;
    ByteMask from_bytes;  // written by others since this thread had the line
    ByteMask to_bytes;    // touched by this thread
    uint32_t transfers;   // 0: adds to a transfer that was noted before
    uint32_t shared;      // 1: the bytes overlap
};

class SharedLines {
  public:
    static constexpr uint32_t kMaxThreads = 1 << 20;  // later ones are not followed
    // The result of one call of use(): a transfer, or more bytes of a transfer that was noted
    // before.
    struct Noted {
        bool any = false;
        Transfer transfer;
    };
    struct Access {
        ByteMask bytes;
        uint64_t pc;
        bool write;
    };

    // Reserves the address space. False when there is none.
    bool open(uint32_t line_bits);
    bool is_open() const { return states_ != nullptr; }
    const LineState* states() const { return states_; }
    static LineUser user(uint32_t thread);

    // The thread's accesses are followed; `cache` must stay mapped as long as this object is open.
    void begin_thread(uint32_t thread, CacheModel* cache);
    void end_thread(uint32_t thread);
    // Called in the child of a fork, on its only thread: no thread has any line then.
    void after_fork(uint32_t thread, CacheModel* cache);
    // These pages of the window have other contents from now on.
    void forget(uint32_t first, uint32_t end);
    void close();

    // Whether the thread may access the line without use().
    bool may_use(const LineUser& by, uint64_t line, bool write) const {
        const LineState known = state_at(line).load(std::memory_order_relaxed) << kLineFlags;
        return write ? known == by.owns : (known & by.has) != 0;
    }
    // The thread makes these accesses to the line, which is already in its filter. The line stays
    // in the filter only if the next accesses need no call of use().
    Noted use(uint32_t thread, uint64_t line, const Access* access, uint32_t accesses);

  private:
    struct WatchedLine;
    enum class Lost { kLine, kOwnership };  // kOwnership: the thread may still read the line
    static constexpr uint32_t kStripes = 1024;
    struct alignas(64) Stripe {
        SpinLock lock;
    };

    std::atomic<LineState>& state_at(uint64_t line) const {
        return reinterpret_cast<std::atomic<LineState>*>(states_)[line & window_];
    }
    uint32_t page_of(uint64_t line) const;
    uint32_t line_in_page(uint64_t line) const;
    bool use_plain(uint32_t thread, uint64_t line, const Access& access, Noted& noted);
    bool use_watched(uint32_t thread, uint64_t line, const Access& access, Noted& noted);
    void begin_turn(const WatchedLine& watched, const WatchedUser& user, uint64_t line,
                    const Access& access, Noted& noted) const;
    void note_bytes(const WatchedUser& user, uint64_t line, const Access& access,
                    Noted& noted) const;
    void write_watched(WatchedLine& watched, const WatchedUser& writer, uint64_t line,
                       const Access& access);
    Noted noted_of(const WatchedUser& user, uint64_t line) const;
    void take_from(LineState holders, uint64_t line, uint32_t except, Lost lost);
    void take_from_thread(uint32_t thread, uint64_t line, Lost lost);
    WatchedLine* watch(uint64_t line);
    WatchedUser user_of(WatchedLine& watched, uint32_t thread);

    LineState* states_ = nullptr;
    uint32_t* watched_ = nullptr;  // by line: index of its WatchedLine, 0 = none
    WatchedLine* lines_ = nullptr;
    std::atomic<CacheModel*>* caches_ = nullptr;  // by thread
    Stripe* stripes_ = nullptr;
    WatchedUsers users_;
    std::atomic<uint32_t> used_lines_{0};
    std::atomic<uint32_t> threads_{0};  // one more than the highest that began
    uint32_t line_bits_ = 0;
    uint64_t window_ = 0;
};

}  // namespace numascape
