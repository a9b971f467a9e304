// SPDX-License-Identifier: Apache-2.0
// The initial values of a container's elements, as an argument of its constructors.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace numascape {

// Constructs elements [first, last), of which the first has position `index` in the container. If
// it throws, it has destroyed those that were constructed.
template <class I, class T>
concept initial_value =
    requires(const I& initial, T* at, std::size_t index) { initial.construct(at, at, index); };

// T{}: zero for numbers.
struct value_init_t {
    template <class T>
    void construct(T* first, T* last, std::size_t /*index*/) const {
        std::uninitialized_value_construct(first, last);
    }
};
inline constexpr value_init_t value_init{};

// Does not initialise numbers, and leaves their pages untouched unless the layout says
// first_touched(). Classes are default-constructed.
struct default_init_t {
    template <class T>
    void construct(T* first, T* last, std::size_t /*index*/) const {
        std::uninitialized_default_construct(first, last);
    }
};
inline constexpr default_init_t default_init{};

// Element i is f(i). Several workers call f in parallel.
template <class F>
class from_index {
  public:
    explicit from_index(F f) : f_{std::move(f)} {}

    template <class T>
        requires std::constructible_from<T, std::invoke_result_t<const F&, std::size_t>>
    void construct(T* first, T* last, std::size_t index) const {
        T* at = first;
        try {
            for (; at != last; ++at, ++index) ::new (static_cast<void*>(at)) T(f_(index));
        } catch (...) {
            std::destroy(first, at);
            throw;
        }
    }

  private:
    F f_;
};

namespace detail {

template <class T>
struct copies_of {
    const T& value;

    void construct(T* first, T* last, std::size_t /*index*/) const {
        std::uninitialized_fill(first, last, value);
    }
};

}  // namespace detail
}  // namespace numascape
