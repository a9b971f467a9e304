// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace numascape::symbols {

// Numbers of distinct texts, from 0. All characters are in one place, because a large library has
// a hundred thousand texts.
class TextTable {
  public:
    std::uint32_t number(std::string_view text);
    // Valid until the next text is added.
    std::string_view at(std::uint32_t number) const;
    std::size_t size() const { return ends_.size(); }

    // The texts one after the other, and where each one ends.
    const std::string& characters() const { return characters_; }
    const std::vector<std::uint32_t>& ends() const { return ends_; }

  private:
    std::string characters_;
    std::vector<std::uint32_t> ends_;
    std::unordered_multimap<std::size_t, std::uint32_t> numbers_;  // by hash
};

inline std::string_view TextTable::at(std::uint32_t number) const {
    const std::uint32_t begin = number == 0 ? 0 : ends_[number - 1];
    return std::string_view(characters_).substr(begin, ends_[number] - begin);
}

inline std::uint32_t TextTable::number(std::string_view text) {
    const std::size_t hash = std::hash<std::string_view>{}(text);
    const auto [first, last] = numbers_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
        if (at(known->second) == text) return known->second;
    }
    const auto fresh = static_cast<std::uint32_t>(ends_.size());
    characters_.append(text);
    ends_.push_back(static_cast<std::uint32_t>(characters_.size()));
    numbers_.emplace(hash, fresh);
    return fresh;
}

}  // namespace numascape::symbols
