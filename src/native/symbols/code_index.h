// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols.h"

namespace numascape::symbols {

// Finds the functions active at a code address in one file's DWARF, by ranges sorted on first use:
// units of the file, then functions of a unit. (.debug_aranges would be ready-made, but clang
// does not write it.) Addresses are those in the file.
class CodeIndex {
  public:
    explicit CodeIndex(Dwarf* dwarf);

    // The frames at `pc`, innermost inlined function first, without their `module`; empty where
    // there is no debug information.
    std::vector<Frame> frames(Dwarf_Addr pc);

    // The function at `pc` that is not inlined.
    std::optional<Dwarf_Die> function(Dwarf_Addr pc);

    // Whether some of it is in other files (.dwo).
    bool has_split_units() const { return !split_bodies_.empty(); }

  private:
    struct Range {
        Dwarf_Addr low;
        Dwarf_Addr high;  // one past the last byte
        Dwarf_Die die;
    };
    using Ranges = std::vector<Range>;

    static void add_ranges(Dwarf_Die& die, Ranges& ranges);
    static void add_functions(Dwarf_Die& scope, int depth, Ranges& ranges);
    static void sort(Ranges& ranges);
    static std::optional<Dwarf_Die> find(const Ranges& ranges, Dwarf_Addr pc);
    static bool find_inlined(Dwarf_Die& scope, Dwarf_Addr pc, int depth,
                             std::vector<Dwarf_Die>& chain);

    Dwarf_Die body_of(const Dwarf_Die& unit) const;
    std::optional<Dwarf_Die> function_in(const Dwarf_Die& unit, Dwarf_Addr pc);
    const std::string& name_of(Dwarf_Die& function);

    Ranges units_;
    // Keys are entries' addresses in memory (Dwarf_Die::addr): offsets repeat between .dwo files.
    std::unordered_map<const void*, Dwarf_Die> split_bodies_;  // by unit
    std::unordered_map<const void*, Ranges> functions_;        // by unit
    std::unordered_map<const void*, std::string> names_;       // by function
};

}  // namespace numascape::symbols
