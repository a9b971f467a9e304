// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libelf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace numascape::symbols {

// The notes of numascape-cc, numascape-c++ and numascape-fc about the calls of a module: where
// their results go. llvm-pass/names.cpp describes the text of the section.
class CallNotes {
  public:
    // `elf` may be null, and its section anything.
    explicit CallNotes(Elf* elf);

    // The lines about the call at this place, without the place; empty when there are none.
    std::string find(const std::string& file, std::uint32_t line, std::uint32_t column) const;

  private:
    void read(std::string_view text);
    void read_file(std::string_view text);

    std::unordered_map<std::string, std::string> notes_;
};

}  // namespace numascape::symbols
