// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols.h"

namespace numascape::symbols {

// The source places of many code addresses. Programs execute many instructions in few places, so
// names are numbered: `function` and `file` are indices of `texts`.
struct Places {
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

    // The innermost of `frames` that is not a library's, or else the innermost: if a library's
    // template was inlined, the program's own line is more useful. Unknown addresses are alike.
    void add(const std::vector<Frame>& frames);
    Places take() { return std::move(places_); }

  private:
    bool is_library(const Frame& frame);
    std::uint32_t number(const std::string& text);

    IsLibrary is_library_;
    Places places_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::unordered_map<std::string, bool> known_;  // by function, file and module
};

}  // namespace numascape::symbols
