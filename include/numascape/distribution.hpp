// SPDX-License-Identifier: Apache-2.0
// How elements are distributed over segments: in equal blocks, block-cyclic, or by weight. A
// segment holds consecutive elements, so a distribution is defined by the first element of each
// segment.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "numascape/node_list.hpp"

namespace numascape {

// Division by a number that is known only at run time, as a multiplication.
// Exact for indexes below 2^63 (Granlund and Montgomery, PLDI 1994, theorem 4.2 with N = 63).
class divider {
  public:
    constexpr divider() = default;
    // `divisor` from 1 to 2^62.
    constexpr explicit divider(std::size_t divisor)
        : shift_{63 + static_cast<int>(std::bit_width(divisor - 1))},
          factor_{static_cast<std::uint64_t>((wide{1} << shift_) / divisor + 1)} {}

    constexpr std::size_t operator()(std::size_t index) const noexcept {
        return static_cast<std::size_t>(wide{factor_} * index >> shift_);
    }

  private:
    __extension__ using wide = unsigned __int128;
    int shift_ = 63;
    std::uint64_t factor_ = (std::uint64_t{1} << 63) + 1;  // the factor of divisor 1
};

// The segment of an index if all segments have the same length, known at compile time.
template <std::size_t Length>
struct static_locator {
    constexpr std::size_t operator()(std::size_t index) const noexcept { return index / Length; }
};

// The segment of an index if lengths differ: the first segment that ends after it.
class end_locator {
  public:
    constexpr void add(std::size_t end) noexcept { ends_[count_++] = end; }
    constexpr std::size_t operator()(std::size_t index) const noexcept {
        const auto* const last = ends_.data() + count_;
        return static_cast<std::size_t>(std::upper_bound(ends_.data(), last, index) - ends_.data());
    }

  private:
    std::array<std::size_t, node_list::capacity> ends_{};
    std::size_t count_ = 0;
};

// A distribution of n elements on a machine with some nodes has: the number of segments (at least
// one), the first element of segment k (monotone; n for k = segments), and the function from an
// index below n to its segment. If it is cyclic, segments get nodes in turn.
template <class D>
concept distribution =
    std::regular<D> && requires(const D d, std::size_t n, std::size_t nodes, std::size_t k) {
        { d.segments(n, nodes) } -> std::same_as<std::size_t>;
        { d.first(k, n, nodes) } -> std::same_as<std::size_t>;
        { d.locator(n, nodes)(k) } -> std::convertible_to<std::size_t>;
        { d.is_cyclic() } -> std::same_as<bool>;
    };

inline constexpr std::size_t max_grain = std::size_t{1} << 40;

// `count` segments of equal length, except that the last ones may be shorter or empty; by default
// as many as there are nodes. Lengths are multiples of `grain` elements, so that rows of a matrix
// or cells of a grid stay together.
class block {
  public:
    static constexpr bool is_cyclic() noexcept { return false; }

    constexpr block() = default;
    constexpr explicit block(std::size_t count, std::size_t grain = 1)
        : count_{count}, grain_{grain} {
        if (grain == 0 || grain > max_grain)
            throw std::invalid_argument{"the grain of a block distribution is from 1 to 2^40"};
    }

    constexpr std::size_t segments(std::size_t /*n*/, std::size_t nodes) const noexcept {
        return count_ != 0 ? count_ : std::max<std::size_t>(nodes, 1);
    }
    constexpr std::size_t first(std::size_t k, std::size_t n, std::size_t nodes) const noexcept {
        const std::size_t length = this->length(n, nodes);
        return k > n / length ? n : std::min(n, k * length);
    }
    constexpr divider locator(std::size_t n, std::size_t nodes) const noexcept {
        return divider{length(n, nodes)};
    }
    friend std::string to_text(const block& d) {
        return "block" + (d.count_ != 0 ? " " + std::to_string(d.count_) : std::string{}) +
               (d.grain_ != 1 ? " grain " + std::to_string(d.grain_) : std::string{});
    }
    bool operator==(const block&) const = default;

  private:
    constexpr std::size_t length(std::size_t n, std::size_t nodes) const noexcept {
        const std::size_t grains = n / grain_ + (n % grain_ != 0);
        const std::size_t count = segments(n, nodes);
        return std::max<std::size_t>(grains / count + (grains % count != 0), 1) * grain_;
    }

    std::size_t count_ = 0;
    std::size_t grain_ = 1;
};

// The length of a block that is chosen at run time.
inline constexpr std::size_t dynamic_length = std::numeric_limits<std::size_t>::max();

// Segments of a given length, whose nodes alternate. A length that is a power of two and known
// at compile time makes an element's segment a shift: block_cyclic<65536>.
template <std::size_t Length = dynamic_length>
class block_cyclic {
    static_assert(Length > 0, "numascape: a block has at least one element");

  public:
    static constexpr bool is_cyclic() noexcept { return true; }

    constexpr block_cyclic() = default;

    constexpr std::size_t segments(std::size_t n, std::size_t /*nodes*/) const noexcept {
        return std::max<std::size_t>(n / Length + (n % Length != 0), 1);
    }
    constexpr std::size_t first(std::size_t k, std::size_t n,
                                std::size_t /*nodes*/) const noexcept {
        return k > n / Length ? n : std::min(n, k * Length);
    }
    constexpr static_locator<Length> locator(std::size_t /*n*/,
                                             std::size_t /*nodes*/) const noexcept {
        return {};
    }
    friend std::string to_text(const block_cyclic&) { return "cyclic " + std::to_string(Length); }
    bool operator==(const block_cyclic&) const = default;
};

template <>
class block_cyclic<dynamic_length> {
  public:
    static constexpr bool is_cyclic() noexcept { return true; }

    constexpr block_cyclic() = default;
    constexpr explicit block_cyclic(std::size_t length) : length_{length} {
        if (length == 0) throw std::invalid_argument{"a block has at least one element"};
    }

    constexpr std::size_t segments(std::size_t n, std::size_t /*nodes*/) const noexcept {
        return std::max<std::size_t>(n / length_ + (n % length_ != 0), 1);
    }
    constexpr std::size_t first(std::size_t k, std::size_t n,
                                std::size_t /*nodes*/) const noexcept {
        return k > n / length_ ? n : std::min(n, k * length_);
    }
    constexpr divider locator(std::size_t /*n*/, std::size_t /*nodes*/) const noexcept {
        return divider{std::min(length_, std::size_t{1} << 62)};
    }
    friend std::string to_text(const block_cyclic& d) {
        return "cyclic " + std::to_string(d.length_);
    }
    bool operator==(const block_cyclic&) const = default;

  private:
    std::size_t length_ = 4096;
};

block_cyclic(std::size_t) -> block_cyclic<dynamic_length>;

// One segment for each weight, with a length in proportion to it, for nodes with different memory,
// bandwidth or numbers of CPUs. Weights are integers; 0 makes an empty segment. Lengths are
// multiples of `grain`.
class weighted {
  public:
    static constexpr bool is_cyclic() noexcept { return false; }
    static constexpr std::size_t capacity = node_list::capacity;

    constexpr weighted() { sums_[1] = count_ = 1; }
    constexpr weighted(std::initializer_list<std::uint32_t> weights, std::size_t grain = 1)
        : weighted{std::span<const std::uint32_t>{weights.begin(), weights.size()}, grain} {}

    // Throws std::invalid_argument if no weight is above 0, std::length_error beyond `capacity`.
    constexpr explicit weighted(std::span<const std::uint32_t> weights, std::size_t grain = 1)
        : grain_{grain} {
        if (weights.size() > capacity) throw std::length_error{"there are more than 64 weights"};
        for (const std::uint32_t weight : weights) {
            sums_[count_ + 1] = sums_[count_] + weight;
            ++count_;
        }
        if (sums_[count_] == 0) throw std::invalid_argument{"no weight is above 0"};
        if (grain == 0 || grain > max_grain)
            throw std::invalid_argument{"the grain of a weighted distribution is from 1 to 2^40"};
    }

    constexpr std::size_t segments(std::size_t /*n*/, std::size_t /*nodes*/) const noexcept {
        return count_;
    }
    constexpr std::size_t first(std::size_t k, std::size_t n,
                                std::size_t /*nodes*/) const noexcept {
        if (k >= count_) return n;
        __extension__ using wide = unsigned __int128;
        const std::size_t grains = n / grain_ + (n % grain_ != 0);
        const auto before = static_cast<std::size_t>(wide{grains} * sums_[k] / sums_[count_]);
        return std::min(n, before * grain_);
    }
    constexpr end_locator locator(std::size_t n, std::size_t nodes) const noexcept {
        end_locator result;
        for (std::size_t k = 0; k < count_; ++k) result.add(first(k + 1, n, nodes));
        return result;
    }
    friend std::string to_text(const weighted& d) {
        std::string text = "weighted";
        for (std::size_t k = 0; k < d.count_; ++k)
            text += " " + std::to_string(d.sums_[k + 1] - d.sums_[k]);
        return text + (d.grain_ != 1 ? " grain " + std::to_string(d.grain_) : std::string{});
    }
    bool operator==(const weighted&) const = default;

  private:
    std::array<std::uint64_t, capacity + 1> sums_{};
    std::size_t count_ = 0;
    std::size_t grain_ = 1;
};

}  // namespace numascape
