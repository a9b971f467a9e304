// SPDX-License-Identifier: Apache-2.0
#include "code_index.h"

#include <dwarf.h>

#include <algorithm>
#include <ranges>

#include "debug_entries.h"

namespace numascape::symbols {
namespace {

bool has_code_attribute(Dwarf_Die& die) {
    return dwarf_hasattr(&die, DW_AT_ranges) != 0 || dwarf_hasattr(&die, DW_AT_low_pc) != 0;
}

bool is_block(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

bool is_class(int tag) {
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

void set_source_line(Dwarf_Die& unit, Dwarf_Addr pc, Frame& frame) {
    Dwarf_Line* line = dwarf_getsrc_die(&unit, pc);
    if (line == nullptr) return;
    int number = 0;
    int column = 0;
    dwarf_lineno(line, &number);
    dwarf_linecol(line, &column);
    frame.file = source_path(unit, dwarf_linesrc(line, nullptr, nullptr));
    frame.line = static_cast<std::uint32_t>(std::max(number, 0));
    frame.column = static_cast<std::uint32_t>(std::max(column, 0));
}

// If several rows have the function's first address, the first one is where the function begins.
// The later ones belong to its first statements.
std::uint32_t entry_line(Dwarf_Die& unit, Dwarf_Addr function_start) {
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrclines(&unit, &lines, &count) != 0) return 0;
    const auto address_of = [&](std::size_t i) {
        Dwarf_Addr address = 0;
        dwarf_lineaddr(dwarf_onesrcline(lines, i), &address);
        return address;
    };
    const auto rows = std::views::iota(std::size_t{0}, count);
    for (auto at = std::ranges::lower_bound(rows, function_start, {}, address_of);
         at != rows.end() && address_of(*at) == function_start; ++at) {
        Dwarf_Line* line = dwarf_onesrcline(lines, *at);
        bool ends_sequence = false;
        int number = 0;
        if (dwarf_lineendsequence(line, &ends_sequence) == 0 && !ends_sequence &&
            dwarf_lineno(line, &number) == 0 && number > 0) {
            return static_cast<std::uint32_t>(number);
        }
    }
    return 0;
}

// Where the code of `inlined` was called from: the location in the frame around it.
void set_call_site(Dwarf_Die& unit, Dwarf_Die& inlined, Frame& frame) {
    frame.file = source_file(unit, unsigned_attribute(inlined, DW_AT_call_file));
    frame.line = static_cast<std::uint32_t>(unsigned_attribute(inlined, DW_AT_call_line));
    frame.column = static_cast<std::uint32_t>(unsigned_attribute(inlined, DW_AT_call_column));
}

}  // namespace

CodeIndex::CodeIndex(Dwarf* dwarf) {
    for_each_unit(dwarf, [this](Dwarf_Die& unit, Dwarf_Die& body) {
        add_ranges(unit, units_);
        if (unit.addr != body.addr) split_bodies_.emplace(unit.addr, body);
    });
    sort(units_);
}

void CodeIndex::add_ranges(Dwarf_Die& die, Ranges& ranges) {
    Dwarf_Addr base = 0;
    Dwarf_Addr low = 0;
    Dwarf_Addr high = 0;
    ptrdiff_t position = 0;
    while ((position = dwarf_ranges(&die, position, &base, &low, &high)) > 0) {
        if (low < high) ranges.push_back({low, high, die});
    }
}

void CodeIndex::add_functions(Dwarf_Die& scope, int depth, Ranges& ranges) {
    if (depth > kDeepestScope) return;
    for_each_child(scope, [&](Dwarf_Die& child) {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram) add_ranges(child, ranges);
        // Functions can be inside functions: in Fortran (`contains`), in GNU C, and OpenMP's
        // outlined regions. Functions of C++ classes have a second entry outside of the class,
        // except those of classes inside a function, such as lambdas.
        const bool in_function =
            dwarf_tag(&scope) == DW_TAG_subprogram || is_block(dwarf_tag(&scope));
        const bool has_functions = tag == DW_TAG_subprogram || tag == DW_TAG_namespace ||
                                   tag == DW_TAG_module || is_block(tag) ||
                                   (in_function && is_class(tag));
        if (has_functions) add_functions(child, depth + 1, ranges);
        return true;
    });
}

void CodeIndex::sort(Ranges& ranges) {
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const Range& a, const Range& b) { return a.low < b.low; });
}

std::optional<Dwarf_Die> CodeIndex::find(const Ranges& ranges, Dwarf_Addr pc) {
    auto after =
        std::upper_bound(ranges.begin(), ranges.end(), pc,
                         [](Dwarf_Addr value, const Range& range) { return value < range.low; });
    // Ranges that the linker discarded start at 0 and may overlap others: look a few back.
    for (int tries = 0; tries < 8 && after != ranges.begin(); ++tries) {
        --after;
        if (pc < after->high) return after->die;
    }
    return std::nullopt;
}

bool CodeIndex::find_inlined(Dwarf_Die& scope, Dwarf_Addr pc, int depth,
                             std::vector<Dwarf_Die>& chain) {
    if (depth > kDeepestScope) return false;
    bool found = false;
    for_each_child(scope, [&](Dwarf_Die& child) {
        const int tag = dwarf_tag(&child);
        const bool inlined = tag == DW_TAG_inlined_subroutine;
        if (!inlined && !is_block(tag)) return true;
        if (dwarf_haspc(&child, pc) == 1) {
            if (inlined) chain.push_back(child);
            find_inlined(child, pc, depth + 1, chain);
            found = true;
        } else if (!inlined && !has_code_attribute(child)) {
            found = find_inlined(child, pc, depth + 1, chain);
        }
        return !found;
    });
    return found;
}

const std::string& CodeIndex::name_of(Dwarf_Die& function) {
    const auto [entry, is_new] = names_.try_emplace(function.addr);
    if (is_new) entry->second = qualified_name(function);
    return entry->second;
}

Dwarf_Die CodeIndex::body_of(const Dwarf_Die& unit) const {
    const auto split = split_bodies_.find(unit.addr);
    return split == split_bodies_.end() ? unit : split->second;
}

std::optional<Dwarf_Die> CodeIndex::function_in(const Dwarf_Die& unit, Dwarf_Addr pc) {
    const auto [entry, is_new] = functions_.try_emplace(unit.addr);
    if (is_new) {
        Dwarf_Die body = body_of(unit);
        add_functions(body, 0, entry->second);
        sort(entry->second);
    }
    return find(entry->second, pc);
}

std::optional<Dwarf_Die> CodeIndex::function(Dwarf_Addr pc) {
    const std::optional<Dwarf_Die> unit = find(units_, pc);
    return unit ? function_in(*unit, pc) : std::nullopt;
}

std::vector<Frame> CodeIndex::frames(Dwarf_Addr pc) {
    std::optional<Dwarf_Die> unit = find(units_, pc);
    if (!unit) return {};
    Dwarf_Die body = body_of(*unit);
    std::optional<Dwarf_Die> function = function_in(*unit, pc);
    if (!function) return {};

    std::vector<Dwarf_Die> chain{*function};  // outermost first
    find_inlined(*function, pc, 0, chain);
    Dwarf_Addr function_start = 0;
    if (dwarf_entrypc(&*function, &function_start) != 0 || function_start > pc) function_start = pc;

    std::vector<Frame> frames;
    for (std::size_t i = chain.size(); i-- > 0;) {
        Frame frame;
        frame.function = name_of(chain[i]);
        frame.offset = pc - function_start;
        frame.inlined = i > 0;
        if (i + 1 == chain.size()) {
            set_source_line(*unit, pc, frame);
        } else {
            set_call_site(body, chain[i + 1], frame);
        }
        frames.push_back(std::move(frame));
    }
    if (pc == function_start) frames.back().entry_line = entry_line(*unit, pc);
    return frames;
}

}  // namespace numascape::symbols
