// SPDX-License-Identifier: Apache-2.0
//
// Reading DWARF debugging information entries (DIEs) with libdw.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>

namespace numascape::symbols {

// Scopes nest a few levels deep in real programs; deeper ones mean a damaged file.
inline constexpr int kDeepestScope = 128;

// Calls `visit(Dwarf_Die&)` for each child until it returns false. Ends if the next sibling is not
// after the previous one: a damaged file could make an endless loop in this way.
template <typename Visit>
void for_each_child(Dwarf_Die& parent, Visit visit) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return;
    while (visit(child)) {
        const Dwarf_Off offset = dwarf_dieoffset(&child);
        Dwarf_Die next;
        if (dwarf_siblingof(&child, &next) != 0 || dwarf_dieoffset(&next) <= offset) return;
        child = next;
    }
}

// Calls `visit(Dwarf_Die& unit, Dwarf_Die& body)` for each unit of a file. Both are the same,
// except in split debug information: there, the unit in the file has the addresses and lines, and
// its body with everything else is in a .dwo file.
template <typename Visit>
void for_each_unit(Dwarf* dwarf, Visit visit) {
    Dwarf_CU* current = nullptr;
    Dwarf_Die unit;
    Dwarf_Die body;
    while (dwarf_get_units(dwarf, current, &current, nullptr, nullptr, &unit, &body) == 0) {
        const bool is_split = body.addr != nullptr && dwarf_tag(&body) == DW_TAG_compile_unit &&
                              dwarf_haschildren(&unit) == 0;
        visit(unit, is_split ? body : unit);
    }
}

// The name of the entry in its declaration; empty for unnamed entries.
std::string declared_name(Dwarf_Die& die);

// The readable name (`ns::Class::f`, `module::u`) from the entry's linkage name; empty if there is
// none.
std::string name_from_linkage(Dwarf_Die& die);

// The same; otherwise from the scopes around the declaration of the entry. This needs a walk
// through its unit.
std::string qualified_name(Dwarf_Die& die);

// The type of a variable or member, without qualifiers and typedefs.
std::optional<Dwarf_Die> declared_type(Dwarf_Die& die);

// The bytes of a type; 0 if there is none, or if they are not known.
std::uint64_t bytes_of_type(std::optional<Dwarf_Die> type);

// An unsigned attribute of the entry itself; 0 if absent.
std::uint64_t unsigned_attribute(Dwarf_Die& die, unsigned attribute);

// `file`, named in the debug information of the unit of `die`, as a path without `.` and `..`
// parts; a relative one starts from the folder the compiler ran in. Empty for nullptr.
std::string source_path(Dwarf_Die& die, const char* file);

// Number `index` of the source files of `unit`, as such a path; empty when there is none.
std::string source_file(Dwarf_Die& unit, std::uint64_t index);

// The source file that the entry is declared in. (libdw's dwarf_decl_file aborts the process
// where the unit's files cannot be read.)
std::string declaration_file(Dwarf_Die& die);

}  // namespace numascape::symbols
