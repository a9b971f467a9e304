// SPDX-License-Identifier: Apache-2.0
#include "structure_parts.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

#include "debug_entries.h"

namespace numascape::symbols {
namespace {

// Smaller variables and members are no structures of their own.
constexpr std::uint64_t kLargeMember = 4096;

// Nobody writes the names of the members of such types.
bool is_of_a_library(Dwarf_Die& type) {
    const std::string name = qualified_name(type);
    for (const char* scope : {"std::", "core::", "alloc::", "__gnu_cxx::"}) {
        if (name.starts_with(scope)) return true;
    }
    return false;
}

bool can_be_divided(Dwarf_Die& type) {
    const int tag = dwarf_tag(&type);
    return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type) &&
           bytes_of_type(type) >= kLargeMember && !is_of_a_library(type);
}

// Where a member or a base class begins in its structure; nullopt for bits and static members.
std::optional<std::uint64_t> offset_of(Dwarf_Die& member) {
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (dwarf_attr(&member, DW_AT_data_member_location, &attribute) == nullptr ||
        dwarf_hasattr(&member, DW_AT_bit_size) != 0 || dwarf_formudata(&attribute, &offset) != 0) {
        return std::nullopt;
    }
    return offset;
}

const char* member_separator(Dwarf_Die& die) {
    Dwarf_Die unit;
    if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) return ".";
    switch (dwarf_srclang(&unit)) {
        case DW_LANG_Fortran77:
        case DW_LANG_Fortran90:
        case DW_LANG_Fortran95:
        case DW_LANG_Fortran03:
        case DW_LANG_Fortran08:
            return "%";
        default:
            return ".";
    }
}

StructurePart part_of(Dwarf_Die& member, const std::string& name, std::uint64_t offset,
                      std::uint64_t size) {
    int line = 0;
    if (dwarf_decl_line(&member, &line) != 0) line = 0;
    return {name, offset, size, declaration_file(member), static_cast<std::uint32_t>(line)};
}

bool has_large(const std::vector<StructurePart>& parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [](const StructurePart& part) { return part.size >= kLargeMember; });
}

// The members of the structure that begins at `start`; `name` is what the source writes before
// theirs. Structures in it are divided, too, if they have large members.
std::vector<StructurePart> members_of(Dwarf_Die& type, const std::string& name, std::uint64_t start,
                                      int depth) {
    std::vector<StructurePart> found;
    if (depth > kDeepestScope) return found;
    for_each_child(type, [&](Dwarf_Die& child) {
        const int tag = dwarf_tag(&child);
        if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return true;
        std::optional<Dwarf_Die> inner = declared_type(child);
        const std::optional<std::uint64_t> offset = offset_of(child);
        const std::uint64_t size = bytes_of_type(inner);
        if (!offset || size == 0) return true;
        const std::string own = declared_name(child);
        const std::string full =
            own.empty() || tag == DW_TAG_inheritance ? name : name + member_separator(child) + own;
        std::vector<StructurePart> parts;
        if (can_be_divided(*inner)) parts = members_of(*inner, full, start + *offset, depth + 1);
        if (parts.size() > 1 && has_large(parts)) {
            found.insert(found.end(), parts.begin(), parts.end());
        } else {
            found.push_back(part_of(child, own.empty() ? "" : full, start + *offset, size));
        }
        return true;
    });
    return found;
}

// Joins small members that are side by side. Large ones without a name are as unnamed as these.
std::vector<StructurePart> with_joined_small(const std::vector<StructurePart>& members) {
    std::vector<StructurePart> parts;
    bool may_join = false;
    std::uint64_t covered = 0;
    for (const StructurePart& member : members) {
        if (member.offset < covered) continue;
        covered = member.offset + member.size;
        const bool is_alone = member.size >= kLargeMember && !member.name.empty();
        if (!is_alone && may_join) {
            parts.back() = {"", parts.back().offset, covered - parts.back().offset, {}, 0};
        } else {
            parts.push_back(member);
        }
        may_join = !is_alone;
    }
    return parts;
}

}  // namespace

std::vector<StructurePart> structure_parts(Dwarf_Die& variable) {
    std::optional<Dwarf_Die> type = declared_type(variable);
    if (!type || !can_be_divided(*type)) return {};
    std::vector<StructurePart> members = members_of(*type, "", 0, 0);
    if (members.size() < 2 || !has_large(members)) return {};
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.offset < b.offset; });
    return with_joined_small(members);
}

}  // namespace numascape::symbols
