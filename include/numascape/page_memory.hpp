// SPDX-License-Identifier: Apache-2.0
// The interface to the operating system: address ranges, their policy, and the nodes of their
// pages. The library makes all Linux system calls here, except those that bind threads
// (topology.hpp).
#pragma once

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace numascape {

// The page size of a range. `base` is that of the kernel (usually 4 KiB); `kib64` aligns to 64
// KiB and lets the kernel use such pages if it supports them (multi-size THP, Arm); `mib2` asks for
// transparent huge pages.
enum class page_size : std::uint32_t { base = 4096, kib64 = 65536, mib2 = 2097152 };

constexpr std::size_t bytes(page_size page) noexcept {
    return static_cast<std::size_t>(page);
}

// What happens if a node has no free page: the kernel uses the nearest node that has one (`spill`),
// or the constructor throws `node_full` and frees everything (`fail`). With first touch, `fail`
// also throws if a page is on another node because the thread ran there.
enum class when_full { spill, fail };

// What determines the node of a page: a policy of the range (`bind`), or the thread that touches it
// first (`first_touch`).
enum class placing { bind, first_touch };

// With when_full::fail: some pages are not on their intended node.
class node_full : public std::bad_alloc {
  public:
    explicit node_full(int node, placing how = placing::bind)
        : message_{how == placing::bind
                       ? "node " + std::to_string(node) + " has not enough free memory"
                       : "pages for node " + std::to_string(node) +
                             " were first touched on another node, or it is full"} {}
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    std::string message_;
};

namespace system {

inline std::size_t page_bytes() noexcept {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

constexpr std::size_t round_up(std::size_t value, std::size_t power_of_two) noexcept {
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

[[noreturn]] inline void throw_errno(const std::string& what) {
    throw std::system_error{errno, std::generic_category(), what};
}

// A set of nodes or CPUs as a bit mask, as system calls need it.
class number_mask {
  public:
    static constexpr std::size_t bits = 16384;

    // Throws std::system_error (EINVAL) for a number that no kernel has.
    void set(int number) {
        if (number < 0 || static_cast<std::size_t>(number) >= bits) {
            errno = EINVAL;
            throw_errno("number " + std::to_string(number));
        }
        words_[static_cast<std::size_t>(number) / word] |=
            1UL << static_cast<std::size_t>(number) % word;
    }
    bool has(int number) const noexcept {
        return words_[static_cast<std::size_t>(number) / word] >>
                   static_cast<std::size_t>(number) % word &
               1;
    }
    unsigned long* data() noexcept { return words_.data(); }
    static constexpr std::size_t bytes = bits / 8;

  private:
    static constexpr std::size_t word = 8 * sizeof(unsigned long);
    std::array<unsigned long, bits / word> words_{};
};

// Sets the policy (mbind(2)) of an untouched range. With a kernel without NUMA, it does nothing.
// Throws std::system_error.
inline void set_policy(void* start, std::size_t size, int mode, std::span<const int> nodes) {
    number_mask mask;
    for (const int node : nodes) mask.set(node);
    // The kernel reads one bit less than the given number, and refuses impossible nodes.
    if (syscall(SYS_mbind, start, size, mode, mask.data(), mask.bits + 1, 0) == 0 ||
        errno == ENOSYS)
        return;
    if (errno == EPERM)
        throw_errno("mbind is not permitted here (a container may need CAP_SYS_NICE)");
    std::string text = "mbind to node";
    for (const int node : nodes) text.append(1, ' ').append(std::to_string(node));
    throw_errno(text);
}

// Makes all pages of a new range present, by its policy. Throws std::bad_alloc.
inline void populate(void* start, std::size_t size) {
#ifdef MADV_POPULATE_WRITE
    if (size == 0 || madvise(start, size, MADV_POPULATE_WRITE) == 0) return;
    if (errno == ENOMEM || errno == EFAULT) throw std::bad_alloc{};
#endif
    // For kernels before 5.14: write zero, which an untouched page contains anyway.
    for (std::size_t at = 0; at < size; at += page_bytes())
        static_cast<volatile std::byte*>(start)[at] = std::byte{0};
}

// The node of each page of a range. A negative number is an error of move_pages(2): -ENOENT is an
// untouched page. Throws std::system_error.
inline std::vector<int> nodes_of_pages(const void* start, std::size_t size) {
    constexpr std::size_t batch = 512;
    const std::size_t page = page_bytes();
    const std::size_t count = (size + page - 1) / page;
    std::vector<int> nodes(count, 0);
    std::array<void*, batch> addresses{};
    for (std::size_t done = 0; done < count;) {
        const std::size_t part = std::min(batch, count - done);
        for (std::size_t i = 0; i < part; ++i)
            addresses[i] =
                const_cast<std::byte*>(static_cast<const std::byte*>(start)) + (done + i) * page;
        // No target nodes: the call only asks.
        if (syscall(SYS_move_pages, 0, part, addresses.data(), nullptr, nodes.data() + done, 0) !=
            0) {
            if (errno == ENOSYS) return nodes;  // no NUMA in this kernel: all is node 0
            throw_errno("move_pages cannot tell where pages are");
        }
        done += part;
    }
    return nodes;
}

// An owned range of addresses without policy or content; touching it allocates memory.
class reservation {
  public:
    reservation() = default;

    // `size` bytes at a multiple of `alignment` (a power of two). Throws std::bad_alloc.
    reservation(std::size_t size, std::size_t alignment) {
        if (size == 0) return;
        const std::size_t page = page_bytes();
        if (size > std::numeric_limits<std::ptrdiff_t>::max() - alignment - page)
            throw std::bad_alloc{};
        size = round_up(size, page);
        const std::size_t slack = alignment > page ? alignment : 0;
        void* const got = mmap(nullptr, size + slack, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED) throw std::bad_alloc{};
        auto* const low = static_cast<std::byte*>(got);
        const std::size_t before =
            slack == 0 ? 0
                       : round_up(reinterpret_cast<std::uintptr_t>(low), alignment) -
                             reinterpret_cast<std::uintptr_t>(low);
        if (before > 0) munmap(low, before);
        if (slack > before) munmap(low + before + size, slack - before);
        start_ = low + before;
        size_ = size;
    }
    reservation(reservation&& other) noexcept
        : start_{std::exchange(other.start_, nullptr)}, size_{std::exchange(other.size_, 0)} {}
    reservation& operator=(reservation&& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~reservation() {
        if (start_ != nullptr) munmap(start_, size_);
    }

    std::byte* data() const noexcept { return start_; }
    std::size_t size() const noexcept { return size_; }

    // Releases ownership; the caller must unmap the range, or adopt it.
    std::byte* release() noexcept {
        size_ = 0;
        return std::exchange(start_, nullptr);
    }
    static reservation adopt(std::byte* start, std::size_t size) noexcept {
        reservation owner;
        owner.start_ = start;
        owner.size_ = size;
        return owner;
    }

  private:
    std::byte* start_ = nullptr;
    std::size_t size_ = 0;
};

// Requests a page size for a new range; a kernel without such pages uses its own size.
inline void advise_pages(void* start, std::size_t size, page_size page, placing how) {
    if (size == 0) return;
    // A 2 MiB page could cover 64 KiB parts of several nodes, unless they have different policies.
    const bool huge = page == page_size::mib2 || (page == page_size::kib64 && how == placing::bind);
    madvise(start, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

// Sets the page size and the node of a new range of whole pages. With first touch, the calling
// thread touches its pages. Throws node_full, std::bad_alloc, std::system_error.
inline void place(void* start, std::size_t size, int node, page_size page, placing how,
                  when_full full) {
    if (size == 0) return;
    advise_pages(start, size, page, how);
    if (how == placing::bind) set_policy(start, size, MPOL_PREFERRED, {&node, 1});
    if (how == placing::bind && full == when_full::spill) return;
    populate(start, size);
    if (full == when_full::spill) return;
    const std::vector<int> nodes = nodes_of_pages(start, size);
    if (std::any_of(nodes.begin(), nodes.end(), [&](int is) { return is != node; }))
        throw node_full{node, how};
}

}  // namespace system
}  // namespace numascape
