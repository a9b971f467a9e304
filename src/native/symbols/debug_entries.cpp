// SPDX-License-Identifier: Apache-2.0
#include "debug_entries.h"

#include <dwarf.h>

#include <cstdlib>
#include <filesystem>

#include "demangle.h"

namespace numascape::symbols {
namespace {

// Follows references to where the entry was declared: that is where its scopes are.
Dwarf_Die declaration_of(Dwarf_Die die) {
    constexpr int kMaxReferences = 8;
    for (int i = 0; i < kMaxReferences; ++i) {
        Dwarf_Attribute attribute;
        Dwarf_Die target;
        Dwarf_Attribute* reference = dwarf_attr(&die, DW_AT_abstract_origin, &attribute);
        if (reference == nullptr) reference = dwarf_attr(&die, DW_AT_specification, &attribute);
        if (dwarf_formref_die(reference, &target) == nullptr) break;
        die = target;
    }
    return die;
}

// The text that a scope adds to the names of the entries in it.
std::string scope_name(Dwarf_Die& scope) {
    const std::string name = declared_name(scope);
    switch (dwarf_tag(&scope)) {
        case DW_TAG_namespace:
            return (name.empty() ? "(anonymous namespace)" : name) + "::";
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
            return (name.empty() || name.starts_with("<lambda") ? "{lambda}" : name) + "::";
        case DW_TAG_subprogram:
            return name + "::";
        default:
            return {};
    }
}

// The namespaces, classes and functions around an entry, each followed by "::". Walks the whole
// unit: only for entries without a linkage name that can be read.
std::string enclosing_scopes(Dwarf_Die& die) {
    Dwarf_Die declaration = declaration_of(die);
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&declaration, &scopes);
    std::string names;
    for (int i = count - 1; i > 0; --i) names += scope_name(scopes[i]);
    if (count > 0) std::free(scopes);
    return names;
}

// Whether names of the unit's language have scopes that their linkage names do not contain: in C++
// for names that are local to a file, in Rust with the newer scheme `_R...`.
bool has_scopes(Dwarf_Die& die) {
    Dwarf_Die unit;
    if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) return false;
    switch (dwarf_srclang(&unit)) {
        case DW_LANG_C_plus_plus:
        case DW_LANG_C_plus_plus_03:
        case DW_LANG_C_plus_plus_11:
        case DW_LANG_C_plus_plus_14:
        case DW_LANG_Rust:
            return true;
        default:
            return false;
    }
}

std::string linkage_name(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    for (const unsigned code : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
        const char* name = dwarf_formstring(dwarf_attr_integrate(&die, code, &attribute));
        if (name != nullptr) return name;
    }
    return {};
}

}  // namespace

std::string declared_name(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    const char* name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute));
    return name == nullptr ? std::string() : std::string(name);
}

std::string name_from_linkage(Dwarf_Die& die) {
    const std::string linkage = linkage_name(die);
    const bool mangled = linkage.starts_with("_Z") || linkage.find("_MOD_") != std::string::npos;
    if (!mangled) return {};
    std::string readable = readable_name(linkage.c_str());
    return readable == linkage ? std::string() : readable;
}

std::string qualified_name(Dwarf_Die& die) {
    std::string name = name_from_linkage(die);
    if (!name.empty()) return name;
    const std::string linkage = linkage_name(die);
    // g++ declares an outlined region of OpenMP by its symbol, in the function around it.
    const std::string declared = declared_name(die);
    if (is_outlined_region(declared)) return readable_name(declared.c_str());
    const bool is_scoped = (linkage.empty() || linkage.starts_with("_R")) && has_scopes(die);
    return is_scoped ? enclosing_scopes(die) + declared : declared;
}

std::optional<Dwarf_Die> declared_type(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    Dwarf_Die peeled;
    if (dwarf_attr_integrate(&die, DW_AT_type, &attribute) == nullptr ||
        dwarf_formref_die(&attribute, &type) == nullptr || dwarf_peel_type(&type, &peeled) != 0) {
        return std::nullopt;
    }
    return peeled;
}

std::uint64_t bytes_of_type(std::optional<Dwarf_Die> type) {
    Dwarf_Word size = 0;
    return type && dwarf_aggregate_size(&*type, &size) == 0 ? size : 0;
}

std::uint64_t unsigned_attribute(Dwarf_Die& die, unsigned code) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr(&die, code, &attribute) == nullptr) return 0;
    return dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

std::string source_path(Dwarf_Die& die, const char* file) {
    if (file == nullptr) return {};
    std::filesystem::path path(file);
    Dwarf_Die unit;
    Dwarf_Attribute attribute;
    if (path.is_relative() && dwarf_diecu(&die, &unit, nullptr, nullptr) != nullptr &&
        dwarf_attr(&unit, DW_AT_comp_dir, &attribute) != nullptr) {
        const char* folder = dwarf_formstring(&attribute);
        if (folder != nullptr) path = folder / path;
    }
    return path.lexically_normal().string();
}

std::string source_file(Dwarf_Die& unit, std::uint64_t index) {
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count) return {};
    return source_path(unit, dwarf_filesrc(files, index, nullptr, nullptr));
}

std::string declaration_file(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Word index = 0;
    Dwarf_Die unit;
    if (dwarf_attr_integrate(&die, DW_AT_decl_file, &attribute) == nullptr) return {};
    if (dwarf_formudata(&attribute, &index) != 0) return {};
    // The index is one of the unit in which the attribute was found.
    if (dwarf_cu_die(attribute.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
        nullptr) {
        return {};
    }
    return source_file(unit, index);
}

}  // namespace numascape::symbols
