// SPDX-License-Identifier: Apache-2.0
#include "frame_variables.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>
#include <string>

#include "debug_entries.h"

namespace numascape::symbols {
namespace {

constexpr std::uint64_t kPage = 4096;
// Variables of different blocks can have the same memory. The name contains at most this many of
// them; if there are more, it ends with "others".
constexpr std::size_t kMaxNames = 3;

// Compilers move the instruction that makes room for an array among those of the next lines.
// Further away, it may be that of alloca, which Fortran does not have.
constexpr std::uint32_t kScheduled = 2;

struct Place {
    FrameBase base;
    std::int64_t offset;

    bool operator==(const Place&) const = default;
};

std::optional<Place> of_register(unsigned number, std::int64_t offset) {
    if (number == kFramePointer) return Place{FrameBase::kFramePointer, offset};
    if (number == kStackPointer) return Place{FrameBase::kStackPointer, offset};
    return std::nullopt;
}

// The place that an expression gives, if it is a fixed distance from one that is known in the whole
// function. `frame_base` is that of DW_OP_fbreg.
std::optional<Place> evaluate(const Dwarf_Op* operations, std::size_t count,
                              const std::optional<Place>& frame_base) {
    if (count == 0) return std::nullopt;
    const Dwarf_Op& first = operations[0];
    const auto number = static_cast<std::int64_t>(first.number);
    std::optional<Place> place;
    if (first.atom == DW_OP_fbreg) {
        place = frame_base;
        if (place) place->offset += number;
    } else if (first.atom == DW_OP_call_frame_cfa) {
        place = Place{FrameBase::kFrameAddress, 0};
    } else if (first.atom >= DW_OP_breg0 && first.atom <= DW_OP_breg31) {
        place = of_register(first.atom - DW_OP_breg0, number);
    } else if (first.atom >= DW_OP_reg0 && first.atom <= DW_OP_reg31 && count == 1) {
        place = of_register(first.atom - DW_OP_reg0, 0);
    }
    if (!place) return std::nullopt;
    for (std::size_t i = 1; i < count; ++i) {
        const bool is_sum = operations[i].atom == DW_OP_consts && i + 1 < count &&
                            operations[i + 1].atom == DW_OP_plus;
        if (!is_sum && operations[i].atom != DW_OP_plus_uconst) return std::nullopt;
        place->offset += static_cast<std::int64_t>(operations[i].number);
        i += is_sum ? 1 : 0;
    }
    return place;
}

// The place that the attribute gives. If it is a list of locations, all must be the same.
std::optional<Place> place_of(Dwarf_Die& die, unsigned attribute_name,
                              const std::optional<Place>& frame_base) {
    Dwarf_Attribute attribute;
    if (dwarf_attr(&die, attribute_name, &attribute) == nullptr) return std::nullopt;
    std::optional<Place> place;
    ptrdiff_t position = 0;
    Dwarf_Addr base = 0;
    Dwarf_Addr low = 0;
    Dwarf_Addr high = 0;
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    while ((position = dwarf_getlocations(&attribute, position, &base, &low, &high, &operations,
                                          &count)) > 0) {
        // A register holds the value of the variable, not its address.
        const bool is_register = attribute_name == DW_AT_location && count == 1 &&
                                 operations[0].atom >= DW_OP_reg0 &&
                                 operations[0].atom <= DW_OP_reg31;
        const auto found = is_register ? std::nullopt : evaluate(operations, count, frame_base);
        if (!found || (place && !(*place == *found))) return std::nullopt;
        place = found;
    }
    return place;
}

std::uint32_t line_of(Dwarf_Die& die) {
    int line = 0;
    return dwarf_decl_line(&die, &line) == 0 ? static_cast<std::uint32_t>(std::max(line, 0)) : 0;
}

// Compilers name their own variables as in `A.2`.
bool is_named_by_program(Dwarf_Die& die) {
    const std::string name = declared_name(die);
    return !name.empty() && name.find('.') == std::string::npos;
}

bool is_of_fortran(Dwarf_Die& die) {
    Dwarf_Die unit;
    if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) return false;
    switch (dwarf_srclang(&unit)) {
        case DW_LANG_Fortran77:
        case DW_LANG_Fortran90:
        case DW_LANG_Fortran95:
        case DW_LANG_Fortran03:
        case DW_LANG_Fortran08:
            return true;
        default:
            return false;
    }
}

// Calls `visit(variable, function)` for each variable in a function, but not for parameters: those
// of the function itself are in its caller's frame, and those of inlined functions are variables of
// other functions.
template <typename Visit>
void each_variable(Dwarf_Die& scope, Dwarf_Die& function, int depth, const Visit& visit) {
    if (depth > kDeepestScope) return;
    for_each_child(scope, [&](Dwarf_Die& child) {
        switch (dwarf_tag(&child)) {
            case DW_TAG_variable:
                visit(child, function);
                break;
            case DW_TAG_lexical_block:
            case DW_TAG_try_block:
            case DW_TAG_catch_block:
                each_variable(child, function, depth + 1, visit);
                break;
            case DW_TAG_inlined_subroutine:
                each_variable(child, child, depth + 1, visit);
                break;
            default:
                break;
        }
        return true;
    });
}

FrameVariable describe(Dwarf_Die& die, Dwarf_Die& function, const Place& place,
                       std::uint64_t size) {
    return {.name = declared_name(die),
            .function = qualified_name(function),
            .file = declaration_file(die),
            .module = {},
            .line = line_of(die),
            .base = place.base,
            .offset = place.offset,
            .size = size};
}

// Joins two variables that overlap into `one`.
void join(FrameVariable& one, const FrameVariable& other) {
    const std::int64_t end = std::max(one.offset + static_cast<std::int64_t>(one.size),
                                      other.offset + static_cast<std::int64_t>(other.size));
    one.size = static_cast<std::uint64_t>(end - one.offset);
    const std::string separator = " or ";
    std::size_t names = 1;
    for (auto at = one.name.find(separator); at != std::string::npos;
         at = one.name.find(separator, at + 1)) {
        ++names;
    }
    const std::string padded = separator + one.name + separator;
    if (padded.find(separator + other.name + separator) != std::string::npos) return;
    if (names < kMaxNames) {
        one.name += separator + other.name;
    } else if (!one.name.ends_with("others")) {
        one.name += separator + "others";
    }
}

std::vector<FrameVariable> disjoint(std::vector<FrameVariable> variables) {
    std::stable_sort(variables.begin(), variables.end(), [](const auto& a, const auto& b) {
        return a.base != b.base ? a.base < b.base : a.offset < b.offset;
    });
    std::vector<FrameVariable> found;
    for (FrameVariable& variable : variables) {
        const bool overlaps =
            !found.empty() && found.back().base == variable.base &&
            variable.offset < found.back().offset + static_cast<std::int64_t>(found.back().size);
        if (overlaps) {
            join(found.back(), variable);
        } else {
            found.push_back(std::move(variable));
        }
    }
    return found;
}

}  // namespace

std::vector<FrameVariable> frame_variables(Dwarf_Die& function) {
    const std::optional<Place> frame_base = place_of(function, DW_AT_frame_base, std::nullopt);
    std::vector<FrameVariable> found;
    each_variable(function, function, 0, [&](Dwarf_Die& die, Dwarf_Die& around) {
        const std::uint64_t size = bytes_of_type(declared_type(die));
        if (size < kPage || !is_named_by_program(die)) return;
        if (const auto place = place_of(die, DW_AT_location, frame_base)) {
            found.push_back(describe(die, around, *place, size));
        }
    });
    return disjoint(std::move(found));
}

std::vector<FrameVariable> variables_made_at(Dwarf_Die& function, std::uint32_t line) {
    std::vector<FrameVariable> found;
    each_variable(function, function, 0, [&](Dwarf_Die& die, Dwarf_Die& around) {
        std::optional<Dwarf_Die> type = declared_type(die);
        const bool is_array = type && dwarf_tag(&*type) == DW_TAG_array_type;
        if (is_array && bytes_of_type(declared_type(die)) == 0 && is_named_by_program(die)) {
            found.push_back(describe(die, around, {FrameBase::kWholeFrame, 0}, 0));
        }
    });
    if (found.size() > 1) {
        std::erase_if(found, [&](const auto& variable) { return variable.line != line; });
    }
    const auto is_near = [&](const FrameVariable& variable) {
        return line + kScheduled >= variable.line && line <= variable.line + kScheduled;
    };
    const bool is_it = found.size() == 1 && (is_of_fortran(function) || is_near(found[0]));
    return is_it ? found : std::vector<FrameVariable>{};
}

}  // namespace numascape::symbols
