// SPDX-License-Identifier: Apache-2.0
#include "globals.h"

#include <algorithm>
#include <map>

#include "data_symbols.h"
#include "static_variables.h"

namespace numascape::symbols {
namespace {

// The rest of a COMMON block after its members is padding if it is below this size (a cache line).
constexpr std::uint64_t kSmallestRemainder = 64;

using ByAddress = std::map<std::uint64_t, Global>;
using VariablesByAddress = std::map<std::uint64_t, const StaticVariable*>;

Global from_variable(const StaticVariable& variable) {
    return {.name = variable.name,
            .file = variable.file,
            .module = {},
            .function = variable.function,
            .address = variable.address,
            .size = variable.size,
            .line = variable.line,
            .points_to_data = variable.points_to_data};
}

Global remainder(const std::string& name, std::uint64_t start, std::uint64_t end) {
    return {.name = name,
            .file = {},
            .module = {},
            .function = {},
            .address = start,
            .size = end - start,
            .line = 0,
            .points_to_data = false};
}

// Puts the members of `block` in the place of the symbol that covers it from `start` to `end`.
// Those that are structures with parts are also put into `structures`.
void split(const CommonBlock& block, std::uint64_t start, std::uint64_t end, ByAddress& globals,
           VariablesByAddress& structures) {
    const std::string block_name = "/" + block.name + "/";
    globals.erase(start);
    std::uint64_t covered = start;
    const auto fill = [&](std::uint64_t until) {
        if (until < covered + kSmallestRemainder) return;
        globals[covered] = remainder(block_name, covered, until);
    };
    for (const StaticVariable& member : block.members) {
        if (member.address < covered || member.address >= end) continue;
        fill(member.address);
        Global global = from_variable(member);
        global.name = block_name + " " + member.name;
        global.size = std::min(global.size, end - member.address);
        globals[member.address] = global;
        if (!member.parts.empty()) structures[member.address] = &member;
        covered = member.address + global.size;
    }
    fill(end);
}

// Puts the parts of a structure in its place. The members that are left keep its name.
void split(const Global& whole, const std::vector<StructurePart>& parts, ByAddress& globals) {
    globals.erase(whole.address);
    for (const StructurePart& part : parts) {
        if (part.offset >= whole.size) continue;
        Global global = whole;
        global.name += part.name;
        global.address += part.offset;
        global.size = std::min(part.size, whole.size - part.offset);
        global.points_to_data = false;
        if (part.line != 0) {
            global.file = part.file;
            global.line = part.line;
        }
        globals[global.address] = std::move(global);
    }
}

// The entry of `globals` that covers `address`.
ByAddress::const_iterator covering(const ByAddress& globals, std::uint64_t address) {
    const auto after = globals.upper_bound(address);
    if (after == globals.begin()) return globals.end();
    const auto found = std::prev(after);
    return address - found->first < found->second.size ? found : globals.end();
}

// Program units can give a block different layouts. This is the one with the most members, by the
// address of the symbol of the block.
std::map<std::uint64_t, const CommonBlock*> finest_layouts(const std::vector<CommonBlock>& blocks,
                                                           const ByAddress& globals) {
    std::map<std::uint64_t, const CommonBlock*> finest;
    for (const CommonBlock& block : blocks) {
        const auto symbol = covering(globals, block.members.front().address);
        if (symbol == globals.end()) continue;
        const CommonBlock*& chosen = finest[symbol->first];
        if (chosen == nullptr || chosen->members.size() < block.members.size()) chosen = &block;
    }
    return finest;
}

// Whether the variable is now the one at its address.
bool refine(const StaticVariable& variable, ByAddress& globals) {
    const auto symbol = globals.find(variable.address);
    Global global = from_variable(variable);
    if (symbol == globals.end()) {
        if (global.size > 0) globals.emplace(global.address, std::move(global));
        return global.size > 0;
    }
    // The symbol has the reserved size. If several variables share storage (EQUIVALENCE), the
    // largest gives the name.
    Global& known = symbol->second;
    const bool is_refined = known.line != 0;
    if (is_refined) return false;
    global.size = std::max(known.size, global.size);
    known = std::move(global);
    return true;
}

struct Range {
    std::uint64_t start;
    std::uint64_t end;
};

bool is_inside(const Range& range, const Global& global) {
    return global.address >= range.start && global.address < range.end &&
           global.size <= range.end - global.address;
}

std::vector<Global> variables_in(const LoadedModule& module, Storage storage, const Range& range) {
    ByAddress globals;
    for (const auto& [address, symbol] : data_symbols(module, storage)) {
        globals[address] = remainder(symbol.name, address, address + symbol.size);
    }
    StaticVariables found = static_variables(module, storage);
    std::stable_sort(found.variables.begin(), found.variables.end(),
                     [](const auto& a, const auto& b) { return a.size > b.size; });
    VariablesByAddress structures;
    for (const StaticVariable& variable : found.variables) {
        const bool is_chosen = refine(variable, globals);
        if (is_chosen && !variable.parts.empty()) structures[variable.address] = &variable;
    }
    for (const auto& [start, block] : finest_layouts(found.blocks, globals)) {
        split(*block, start, start + globals.at(start).size, globals, structures);
    }
    for (const auto& [address, variable] : structures) {
        const auto known = globals.find(address);
        if (known != globals.end()) split(Global(known->second), variable->parts, globals);
    }

    std::vector<Global> disjoint;
    std::uint64_t covered = 0;
    for (auto& [address, global] : globals) {
        if (address < covered || !is_inside(range, global)) continue;
        covered = address + global.size;
        global.module = module.description().path;
        disjoint.push_back(std::move(global));
    }
    return disjoint;
}

}  // namespace

std::vector<Global> module_globals(const LoadedModule& module) {
    return variables_in(module, Storage::kProcess, {module.description().start, module.data_end()});
}

std::vector<Global> module_thread_variables(const LoadedModule& module) {
    const auto segment = module.thread_segment();
    if (!segment) return {};
    return variables_in(module, Storage::kThread, {0, segment->bytes});
}

}  // namespace numascape::symbols
