// SPDX-License-Identifier: Apache-2.0
//
// Reading DWARF debugging information entries (DIEs) with libdw.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <string>

namespace numascape::symbols {

// Scopes nest a few levels deep in real programs; deeper ones mean a damaged file.
inline constexpr int kDeepestScope = 128;

// Calls `visit(Dwarf_Die&)` for each child until it returns false. Ends where the next sibling does
// not lie after the one before, which a damaged file could use to make an endless loop.
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

// Calls `visit(Dwarf_Die& unit, Dwarf_Die& body)` for each unit of a file. They are the same but in
// split debug information, where the unit in the file has the addresses and lines, and its body
// with everything else lies in a .dwo file.
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

// The entry's own name, as it was declared; empty for unnamed entries.
std::string declared_name(Dwarf_Die& die);

// The name for a reader (`ns::Class::f`, `module::u`) that the entry's linkage name gives; empty
// when it gives none.
std::string name_from_linkage(Dwarf_Die& die);

// The same, else from the scopes around the entry's declaration, which costs a walk through its
// unit.
std::string qualified_name(Dwarf_Die& die);

// An unsigned attribute of this entry itself; 0 when absent.
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
