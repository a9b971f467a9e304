// SPDX-License-Identifier: Apache-2.0
#include "globals.h"

#include <algorithm>
#include <map>

#include "data_symbols.h"
#include "static_variables.h"

namespace numascape::symbols {
namespace {

// What a COMMON block's members leave over is padding below this size (a cache line).
constexpr std::uint64_t kSmallestRemainder = 64;

using ByAddress = std::map<std::uint64_t, Global>;

Global from_variable(const StaticVariable& variable) {
    return {.name = variable.name,
            .file = variable.file,
            .module = {},
            .function = variable.function,
            .address = variable.address,
            .size = variable.size,
            .line = variable.line};
}

Global remainder(const std::string& name, std::uint64_t start, std::uint64_t end) {
    return {.name = name,
            .file = {},
            .module = {},
            .function = {},
            .address = start,
            .size = end - start,
            .line = 0};
}

// Puts the members of `block`, which is `size` bytes long, in the place of its symbol.
void split(const CommonBlock& block, std::uint64_t size, ByAddress& globals) {
    const std::string block_name = "/" + block.name + "/";
    const std::uint64_t end = block.address + size;
    std::vector<StaticVariable> members = block.members;
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.address < b.address; });
    globals.erase(block.address);
    std::uint64_t covered = block.address;
    const auto fill = [&](std::uint64_t until) {
        if (until < covered + kSmallestRemainder) return;
        globals[covered] = remainder(block_name, covered, until);
    };
    for (const StaticVariable& member : members) {
        if (member.address < covered || member.address >= end) continue;
        fill(member.address);
        Global global = from_variable(member);
        global.name = block_name + " " + member.name;
        global.size = std::min(global.size, end - member.address);
        globals[member.address] = global;
        covered = member.address + global.size;
    }
    fill(end);
}

// Of the layouts that program units give a block, the one with the most members.
std::map<std::uint64_t, const CommonBlock*> finest_layouts(const std::vector<CommonBlock>& blocks) {
    std::map<std::uint64_t, const CommonBlock*> finest;
    for (const CommonBlock& block : blocks) {
        if (block.members.empty()) continue;
        const CommonBlock*& chosen = finest[block.address];
        if (chosen == nullptr || chosen->members.size() < block.members.size()) chosen = &block;
    }
    return finest;
}

void refine(const StaticVariable& variable, ByAddress& globals) {
    const auto symbol = globals.find(variable.address);
    Global global = from_variable(variable);
    if (symbol == globals.end()) {
        if (global.size > 0) globals.emplace(global.address, std::move(global));
        return;
    }
    // The symbol has the size that was really reserved, but for several variables that share
    // storage (EQUIVALENCE): the largest gives the name.
    Global& known = symbol->second;
    const bool is_refined = known.line != 0;
    if (is_refined) return;
    global.size = std::max(known.size, global.size);
    known = std::move(global);
}

bool is_inside(const Module& module, const Global& global) {
    return global.address >= module.start && global.address < module.end &&
           global.size <= module.end - global.address;
}

}  // namespace

std::vector<Global> module_globals(const LoadedModule& module) {
    ByAddress globals;
    for (const auto& [address, symbol] : data_symbols(module)) {
        globals[address] = remainder(symbol.name, address, address + symbol.size);
    }
    StaticVariables found = static_variables(module);
    std::stable_sort(found.variables.begin(), found.variables.end(),
                     [](const auto& a, const auto& b) { return a.size > b.size; });
    for (const StaticVariable& variable : found.variables) refine(variable, globals);
    for (const auto& [address, block] : finest_layouts(found.blocks)) {
        const auto symbol = globals.find(address);
        if (symbol != globals.end()) split(*block, symbol->second.size, globals);
    }

    std::vector<Global> disjoint;
    std::uint64_t covered = 0;
    for (auto& [address, global] : globals) {
        if (address < covered || !is_inside(module.description(), global)) continue;
        covered = address + global.size;
        global.module = module.description().path;
        disjoint.push_back(std::move(global));
    }
    return disjoint;
}

}  // namespace numascape::symbols
