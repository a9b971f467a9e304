// SPDX-License-Identifier: Apache-2.0
//
// Numbers in the arguments of the programs that Numascape starts.
#pragma once

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace numascape {

// The whole text as one number; throws std::runtime_error if it is not a number.
template <typename T>
T number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw std::runtime_error("not a number: " + std::string(text));
    }
    return value;
}

// Numbers with commas between them; none in an empty text.
template <typename T>
std::vector<T> numbers(std::string_view text) {
    std::vector<T> values;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        values.push_back(number<T>(text.substr(0, comma)));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return values;
}

}  // namespace numascape
