// SPDX-License-Identifier: Apache-2.0
// Policies of std::mdspan (C++23) for containers in segments. They need no mdspan themselves, so
// they also fit the reference implementation (Kokkos::mdspan or std::experimental::mdspan) with
// compilers whose library has none. A contiguous numa_vector needs no policy: pass its data().
//
//     #include <numascape/mdspan.hpp>
//     #include <numascape/segmented_vector.hpp>
//
//     int main() {
//         using namespace numascape;
//         // 6 rows of 4 columns, in 2 segments of whole rows.
//         segmented_vector<double> grid{layout{block{2, 4}}, 24};
//         const segmented_accessor<double> at{grid};  // std::mdspan(at.handle(), mapping, at)
//         at.access(at.handle(), 23) = 1;
//         return grid[23] == 1 ? 0 : 1;
//     }
#pragma once

#include <version>
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "numascape/distribution.hpp"
#include "numascape/segmented_iterator.hpp"

namespace numascape {

// Finds the segment of each element, for any layout of segmented_vector and any mapping. An access
// costs as much as that by an iterator.
template <class T>
class segmented_accessor {
  public:
    using element_type = T;
    using reference = T&;
    using data_handle_type = segmented_iterator<T>;
    using pointer = data_handle_type;  // the name in older reference implementations
    using offset_policy = segmented_accessor;

    constexpr segmented_accessor() = default;
    template <class Vector>
        requires std::convertible_to<typename Vector::iterator, segmented_iterator<T>> ||
                 std::convertible_to<typename Vector::const_iterator, segmented_iterator<T>>
    constexpr explicit segmented_accessor(Vector& vector) : begin_{vector.begin()} {}

    constexpr data_handle_type handle() const noexcept { return begin_; }
    constexpr reference access(data_handle_type p, std::size_t i) const noexcept {
        return p[static_cast<std::ptrdiff_t>(i)];
    }
    constexpr data_handle_type offset(data_handle_type p, std::size_t i) const noexcept {
        return p + static_cast<std::ptrdiff_t>(i);
    }

  private:
    data_handle_type begin_;
};

// Rows in order, with the gaps that are between equal segments of whole rows: a mapping for a plain
// pointer to the first element. Elements of a row are adjacent, so compilers vectorise loops over
// the last index, as in an array.
struct layout_segments {
    template <class Extents>
    class mapping {
      public:
        using extents_type = Extents;
        using index_type = typename Extents::index_type;
        using size_type = typename Extents::size_type;
        using rank_type = typename Extents::rank_type;
        using layout_type = layout_segments;
        static_assert(Extents::rank() >= 1, "numascape: rows need one extent or more");

        constexpr mapping() = default;
        // The first extent is the number of rows of the vector. Throws std::invalid_argument if the
        // extents do not fit the number of elements, or if segments differ or split rows.
        template <class Vector>
        constexpr mapping(const Extents& extents, const Vector& vector) : extents_{extents} {
            for (rank_type r = 1; r < Extents::rank(); ++r)
                row_ *= static_cast<std::size_t>(extents.extent(r));
            const auto rows = static_cast<std::size_t>(extents.extent(0));
            if (rows * row_ != vector.size())
                throw std::invalid_argument{"extents of " + std::to_string(rows * row_) +
                                            " elements for a vector of " +
                                            std::to_string(vector.size())};
            span_ = rows * row_;
            if (span_ > 0) find_gaps(vector);
        }

        constexpr const Extents& extents() const noexcept { return extents_; }
        constexpr index_type required_span_size() const noexcept {
            return static_cast<index_type>(span_);
        }
        template <class... Index>
            requires(sizeof...(Index) == Extents::rank())
        constexpr index_type operator()(Index... index) const noexcept {
            const std::size_t at[] = {static_cast<std::size_t>(index)...};
            std::size_t offset = at[0];
            for (rank_type r = 1; r < Extents::rank(); ++r)
                offset = offset * static_cast<std::size_t>(extents_.extent(r)) + at[r];
            return static_cast<index_type>(offset + gap_ * rows_(at[0]));
        }

        static constexpr bool is_always_unique() noexcept { return true; }
        static constexpr bool is_always_exhaustive() noexcept { return false; }
        static constexpr bool is_always_strided() noexcept { return false; }
        static constexpr bool is_unique() noexcept { return true; }
        constexpr bool is_exhaustive() const noexcept { return gap_ == 0; }
        constexpr bool is_strided() const noexcept { return gap_ == 0; }
        // The distance between elements whose index r differs by one. Only a mapping without gaps
        // has one.
        constexpr index_type stride(rank_type r) const noexcept {
            index_type stride = 1;
            for (rank_type s = r + 1; s < Extents::rank(); ++s) stride *= extents_.extent(s);
            return stride;
        }
        friend constexpr bool operator==(const mapping& a, const mapping& b) noexcept {
            return a.extents_ == b.extents_ && a.gap_ == b.gap_ && a.length_ == b.length_;
        }

      private:
        template <class Vector>
        constexpr void find_gaps(const Vector& vector) {
            const auto segments = vector.segments();
            const auto* const first = &vector[0];
            const std::size_t length = segments[0].size();
            if (length == 0 || length % row_ != 0) refuse();
            length_ = length / row_;
            rows_ = divider{length_};
            for (std::size_t k = 0, index = 0; k < segments.size() && index < vector.size(); ++k) {
                const std::size_t rest = vector.size() - index;
                if (segments[k].size() != std::min(length, rest)) refuse();
                const auto distance =
                    static_cast<std::size_t>(reinterpret_cast<const char*>(segments[k].data()) -
                                             reinterpret_cast<const char*>(first));
                constexpr std::size_t size = sizeof(typename Vector::value_type);
                if (k == 1) gap_ = distance / size - length;
                if (distance != k * (length + gap_) * size) refuse();
                index += segments[k].size();
                span_ = distance / size + segments[k].size();
            }
        }
        [[noreturn]] static void refuse() {
            throw std::invalid_argument{
                "layout_segments needs equal segments of whole rows, at equal distances (a block "
                "distribution whose grain is a row); use segmented_accessor"};
        }

        Extents extents_{};
        std::size_t row_ = 1;     // elements of a row
        std::size_t length_ = 1;  // rows of a segment
        std::size_t gap_ = 0;     // elements between two segments
        std::size_t span_ = 0;
        divider rows_{1};
    };
};

#ifdef __cpp_lib_mdspan
// The std::mdspan of a segmented_vector, of any rank: rows first.
template <class Vector, class... Extents>
constexpr auto mdspan_of(Vector& vector, Extents... extents) {
    using dimensions = std::dextents<std::size_t, sizeof...(Extents)>;
    using T = std::remove_reference_t<decltype(vector[0])>;
    const layout_segments::mapping<dimensions> where{
        dimensions{static_cast<std::size_t>(extents)...}, vector};
    return std::mdspan<T, dimensions, layout_segments>{vector.empty() ? nullptr : &vector[0],
                                                       where};
}
#endif

}  // namespace numascape
