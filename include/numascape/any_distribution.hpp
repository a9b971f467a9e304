// SPDX-License-Identifier: Apache-2.0
// A distribution that is chosen at run time: block, block-cyclic or weighted.
#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "numascape/distribution.hpp"

namespace numascape {

class any_distribution {
    using locators = std::variant<divider, end_locator>;

  public:
    class locator_type {
      public:
        explicit locator_type(const locators& chosen) : chosen_{chosen} {}
        std::size_t operator()(std::size_t index) const noexcept {
            if (const auto* const divide = std::get_if<divider>(&chosen_)) return (*divide)(index);
            return std::get<end_locator>(chosen_)(index);
        }

      private:
        locators chosen_;
    };

    any_distribution() = default;
    any_distribution(const block& chosen) : chosen_{chosen} {}
    any_distribution(const block_cyclic<>& chosen) : chosen_{chosen} {}
    any_distribution(const weighted& chosen) : chosen_{chosen} {}

    bool is_cyclic() const {
        return std::visit([](const auto& d) { return d.is_cyclic(); }, chosen_);
    }
    std::size_t segments(std::size_t n, std::size_t nodes) const {
        return std::visit([&](const auto& d) { return d.segments(n, nodes); }, chosen_);
    }
    std::size_t first(std::size_t k, std::size_t n, std::size_t nodes) const {
        return std::visit([&](const auto& d) { return d.first(k, n, nodes); }, chosen_);
    }
    locator_type locator(std::size_t n, std::size_t nodes) const {
        return std::visit([&](const auto& d) { return locator_type{d.locator(n, nodes)}; },
                          chosen_);
    }
    friend std::string to_text(const any_distribution& distribution) {
        return std::visit([](const auto& d) { return to_text(d); }, distribution.chosen_);
    }
    bool operator==(const any_distribution&) const = default;

  private:
    std::variant<block, block_cyclic<>, weighted> chosen_;
};

}  // namespace numascape
