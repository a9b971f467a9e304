// SPDX-License-Identifier: Apache-2.0
#include "static_variables.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

#include "debug_entries.h"

namespace numascape::symbols {
namespace {

// The state of a walk through the entries: the enclosing names, and the run-time bias.
struct Scope {
    std::string qualifier;  // "ns::", "module::", or empty
    Dwarf_Die* function;    // around, or nullptr
    Dwarf_Addr bias;
    Storage storage;
    int depth = 0;
};

struct FirstAddress {
    Dwarf_Addr address;
    std::size_t operations;  // that give it
};

// DW_OP_addr or DW_OP_addrx.
std::optional<FirstAddress> address_in_process(Dwarf_Attribute& attribute, Dwarf_Op* operations) {
    Dwarf_Addr address = operations[0].number;
    if (operations[0].atom == DW_OP_addr) return FirstAddress{address, 1};
    if (operations[0].atom != DW_OP_addrx && operations[0].atom != DW_OP_GNU_addr_index) {
        return std::nullopt;
    }
    Dwarf_Attribute resolved;
    if (dwarf_getlocation_attr(&attribute, &operations[0], &resolved) != 0) return std::nullopt;
    if (dwarf_formaddr(&resolved, &address) != 0) return std::nullopt;
    return FirstAddress{address, 1};
}

// A number, then the operation that adds the start of thread-local storage.
std::optional<FirstAddress> address_in_thread(Dwarf_Attribute& attribute, Dwarf_Op* operations,
                                              std::size_t count) {
    if (count < 2 || (operations[1].atom != DW_OP_form_tls_address &&
                      operations[1].atom != DW_OP_GNU_push_tls_address)) {
        return std::nullopt;
    }
    Dwarf_Addr address = operations[0].number;
    switch (operations[0].atom) {
        case DW_OP_const4u:
        case DW_OP_const8u:
        case DW_OP_addr:
            return FirstAddress{address, 2};
        case DW_OP_constx:
        case DW_OP_GNU_const_index: {
            Dwarf_Attribute resolved;
            if (dwarf_getlocation_attr(&attribute, &operations[0], &resolved) != 0 ||
                dwarf_formaddr(&resolved, &address) != 0) {
                return std::nullopt;
            }
            return FirstAddress{address, 2};
        }
        default:
            return std::nullopt;
    }
}

// The fixed address a location expression gives, then perhaps an offset. Others (registers, the
// stack) have none.
std::optional<Dwarf_Addr> fixed_address(Dwarf_Die& die, Storage storage) {
    Dwarf_Attribute attribute;
    if (dwarf_attr(&die, DW_AT_location, &attribute) == nullptr) return std::nullopt;
    const unsigned form = dwarf_whatform(&attribute);
    const bool expression = form == DW_FORM_exprloc || form == DW_FORM_block ||
                            form == DW_FORM_block1 || form == DW_FORM_block2 ||
                            form == DW_FORM_block4;
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (!expression || dwarf_getlocation(&attribute, &operations, &count) != 0) return std::nullopt;
    if (count < 1) return std::nullopt;
    const std::optional<FirstAddress> first = storage == Storage::kProcess
                                                  ? address_in_process(attribute, operations)
                                                  : address_in_thread(attribute, operations, count);
    if (!first || count > first->operations + 1) return std::nullopt;
    if (count == first->operations) return first->address;
    const Dwarf_Op& last = operations[first->operations];
    if (last.atom != DW_OP_plus_uconst) return std::nullopt;
    return first->address + last.number;
}

// See Global.
bool points_to_data(Dwarf_Die& die) {
    std::optional<Dwarf_Die> type = declared_type(die);
    if (!type) return false;
    switch (dwarf_tag(&*type)) {
        case DW_TAG_pointer_type:
            return true;
        case DW_TAG_array_type:
            // The descriptor of an allocatable or pointer array begins with the base address.
            return dwarf_hasattr(&*type, DW_AT_data_location) != 0;
        case DW_TAG_class_type:
        case DW_TAG_structure_type: {
            const std::string name = qualified_name(*type);
            return name.starts_with("std::vector<") || name.starts_with("std::unique_ptr<");
        }
        default:
            return false;
    }
}

std::optional<StaticVariable> describe(Dwarf_Die& die, const Scope& scope) {
    const std::optional<Dwarf_Addr> address = fixed_address(die, scope.storage);
    if (!address) return std::nullopt;
    StaticVariable variable{*address + scope.bias,
                            bytes_of_type(declared_type(die)),
                            declared_name(die),
                            {},
                            {},
                            0,
                            points_to_data(die),
                            structure_parts(die)};
    if (variable.name.empty()) return std::nullopt;
    if (scope.function != nullptr) {
        variable.function = qualified_name(*scope.function);
    } else {
        // The definition may be outside the scope of the declaration.
        const bool is_elsewhere = dwarf_hasattr(&die, DW_AT_specification) != 0;
        const std::string full = is_elsewhere ? qualified_name(die) : name_from_linkage(die);
        variable.name = full.empty() ? scope.qualifier + variable.name : full;
    }
    int line = 0;
    if (dwarf_decl_line(&die, &line) == 0) variable.line = static_cast<std::uint32_t>(line);
    variable.file = declaration_file(die);
    return variable;
}

CommonBlock describe_block(Dwarf_Die& die, const Scope& scope) {
    CommonBlock block{declared_name(die), {}};
    if (block.name == "__BLNK__") block.name.clear();
    // Each program unit may define another layout of the block, so members do not get the name of a
    // unit.
    Scope inside{{}, nullptr, scope.bias, scope.storage, scope.depth + 1};
    for_each_child(die, [&](Dwarf_Die& child) {
        if (dwarf_tag(&child) != DW_TAG_variable) return true;
        std::optional<StaticVariable> member = describe(child, inside);
        if (member && member->size > 0) block.members.push_back(std::move(*member));
        return true;
    });
    std::stable_sort(block.members.begin(), block.members.end(),
                     [](const auto& a, const auto& b) { return a.address < b.address; });
    return block;
}

void walk(Dwarf_Die& parent, const Scope& scope, StaticVariables& found) {
    if (scope.depth > kDeepestScope) return;
    for_each_child(parent, [&](Dwarf_Die& child) {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_variable) {
            std::optional<StaticVariable> variable = describe(child, scope);
            if (variable) found.variables.push_back(std::move(*variable));
            return true;
        }
        if (tag == DW_TAG_common_block) {
            CommonBlock block = describe_block(child, scope);
            if (!block.members.empty()) found.blocks.push_back(std::move(block));
            return true;
        }
        Scope inner = scope;
        ++inner.depth;
        if (tag == DW_TAG_namespace || tag == DW_TAG_module) {
            const std::string name = declared_name(child);
            inner.qualifier += (name.empty() ? "(anonymous namespace)" : name) + "::";
        } else if (tag == DW_TAG_subprogram) {
            if (dwarf_haschildren(&child) == 0) return true;
            inner.function = &child;
        } else if (tag != DW_TAG_lexical_block) {
            return true;
        }
        walk(child, inner, found);
        return true;
    });
}

}  // namespace

StaticVariables static_variables(const LoadedModule& module, Storage storage) {
    StaticVariables found;
    Dwarf_Addr bias = 0;
    Dwarf* dwarf = module.dwarf(&bias);
    if (dwarf == nullptr) return found;
    if (storage == Storage::kThread) bias = 0;
    for_each_unit(dwarf, [&](Dwarf_Die&, Dwarf_Die& body) {
        walk(body, Scope{{}, nullptr, bias, storage}, found);
    });
    return found;
}

}  // namespace numascape::symbols
