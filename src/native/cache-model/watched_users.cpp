// SPDX-License-Identifier: Apache-2.0
#include "watched_users.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

constexpr uint32_t kMaxGroups = 1 << 22;
constexpr uint64_t kMaxUsers = uint64_t{kMaxGroups} * WatchedUser::kTogether;
constexpr uint32_t kFound = 1 << 16;

}  // namespace

bool WatchedUsers::open() {
    groups_ = map_private<WatchedUser::Group>(kMaxGroups * sizeof *groups_);
    turns_ = map_private<WatchedUser::Turn>(kMaxUsers * sizeof *turns_);
    found_ = map_private<std::atomic<uint32_t>>(kFound * sizeof *found_);
    return groups_ != nullptr && turns_ != nullptr && found_ != nullptr;
}

void WatchedUsers::close() {
    const auto unmap = [](auto*& memory, uint64_t count) {
        if (memory != nullptr) {
            os::unmap(memory, count * sizeof *memory);
            memory = nullptr;
        }
    };
    unmap(groups_, kMaxGroups);
    unmap(turns_, kMaxUsers);
    unmap(found_, kFound);
}

void WatchedUsers::forget() {
    os::discard(groups_, kMaxGroups * sizeof *groups_, false);
    os::discard(turns_, kMaxUsers * sizeof *turns_, false);
    os::discard(found_, kFound * sizeof *found_, false);
    used_groups_.store(0);
}

WatchedUser WatchedUsers::of(List& list, uint32_t line, uint32_t thread, ByteMask foreign) {
    WatchedUser wanted = find(list, thread);
    if (wanted.turn != nullptr) {
        return wanted;
    }
    if (list == 0 || groups_[list].next == 0) {
        return add(list, line, thread, foreign);
    }
    const uint64_t hash = (uint64_t{line} << 20 | thread) * 0x9e3779b97f4a7c15u >> 40;
    std::atomic<uint32_t>& found = found_[hash % kFound];
    const WatchedUser known = user(found.load(std::memory_order_relaxed));
    if (known.group->line == line && known.thread() == thread) {
        return known;
    }
    for (uint32_t i = groups_[list].next; i != 0 && wanted.turn == nullptr; i = groups_[i].next) {
        wanted = find(i, thread);
    }
    if (wanted.turn == nullptr) {
        wanted = add(list, line, thread, foreign);
    }
    if (wanted.turn != nullptr) {
        found.store(static_cast<uint32_t>(wanted.turn - turns_), std::memory_order_relaxed);
    }
    return wanted;
}

WatchedUser WatchedUsers::find(uint32_t group, uint32_t thread) const {
    for (uint32_t at = 0; at < groups_[group].users; ++at) {
        if (groups_[group].thread[at] == thread) {
            return user(group * WatchedUser::kTogether + at);
        }
    }
    return {};
}

WatchedUser WatchedUsers::add(List& list, uint32_t line, uint32_t thread, ByteMask foreign) {
    if (list == 0 || groups_[list].users == WatchedUser::kTogether) {
        if (used_groups_.load(std::memory_order_relaxed) >= kMaxGroups - 1) {
            return {};
        }
        const uint32_t next = used_groups_.fetch_add(1) + 1;
        if (next >= kMaxGroups) {
            return {};
        }
        groups_[next].next = list;
        groups_[next].line = line;
        list = next;
    }
    WatchedUser::Group& group = groups_[list];
    const uint32_t at = group.users++;
    group.thread[at] = thread;
    group.foreign[at] = foreign;
    return user(list * WatchedUser::kTogether + at);
}

}  // namespace numascape
