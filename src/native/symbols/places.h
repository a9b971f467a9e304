// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols.h"

namespace numascape::symbols {

// The source places of many code addresses: `place` has an index of the distinct places for each
// address. `function` and `file` of a place are indices of `texts`.
struct Places {
    std::vector<std::uint32_t> place;
    std::vector<std::string> texts;  // distinct
    std::vector<std::uint32_t> function;
    std::vector<std::uint32_t> file;
    std::vector<std::uint32_t> line;
};

// Whether a place belongs to a library of a language, by its function, file and module.
using IsLibrary = std::function<bool(const std::string&, const std::string&, const std::string&)>;

// Adds the places of one address after the other.
class PlaceCollector {
  public:
    explicit PlaceCollector(IsLibrary is_library) : is_library_(std::move(is_library)) {}

    // Adds the innermost of `frames` that is not a library's, or else the innermost: if a library's
    // template was inlined, the program's own line is more useful. Unknown addresses have one
    // place.
    void add(const std::vector<Frame>& frames);
    Places take() { return std::move(places_); }

  private:
    bool is_library(const Frame& frame);
    std::uint32_t number(const std::string& text);

    IsLibrary is_library_;
    Places places_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
    // By function and file (32 bits each), then by line.
    std::unordered_map<std::uint64_t, std::unordered_map<std::uint32_t, std::uint32_t>> distinct_;
    std::unordered_map<std::string, bool> known_;  // by function, file and module
};

}  // namespace numascape::symbols
