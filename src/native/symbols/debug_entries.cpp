// SPDX-License-Identifier: Apache-2.0
#include "debug_entries.h"

#include <dwarf.h>

#include <filesystem>

#include "demangle.h"

namespace numascape::symbols {
namespace {

// The names of the namespaces (Rust: modules) around an entry, each followed by "::". Walks the
// whole unit: only for entries whose linkage name cannot be read.
std::string enclosing_namespaces(Dwarf_Die& die) {
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&die, &scopes);
    std::string names;
    for (int i = count - 1; i > 0; --i) {
        if (dwarf_tag(&scopes[i]) != DW_TAG_namespace) continue;
        names += declared_name(scopes[i]) + "::";
    }
    if (count > 0) std::free(scopes);
    return names;
}

}  // namespace

std::string declared_name(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    const char* name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute));
    return name == nullptr ? std::string() : std::string(name);
}

std::string linkage_name(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    for (const unsigned code : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
        const char* name = dwarf_formstring(dwarf_attr_integrate(&die, code, &attribute));
        if (name != nullptr) return name;
    }
    return {};
}

std::string qualified_name(Dwarf_Die& die) {
    const std::string linkage = linkage_name(die);
    const bool mangled = linkage.starts_with("_Z") || linkage.find("_MOD_") != std::string::npos;
    if (mangled) {
        std::string readable = readable_name(linkage.c_str());
        if (readable != linkage) return readable;
    }
    // The Rust scheme `_R...` is not known to the C++ runtime's demangler.
    if (linkage.starts_with("_R")) return enclosing_namespaces(die) + declared_name(die);
    return declared_name(die);
}

std::uint64_t unsigned_attribute(Dwarf_Die& die, unsigned code) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr(&die, code, &attribute) == nullptr) return 0;
    return dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

std::string source_path(const char* file) {
    if (file == nullptr) return {};
    return std::filesystem::path(file).lexically_normal().string();
}

}  // namespace numascape::symbols
