// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include <cstdio>
#include <unordered_map>
#include <utility>

#include "globals.h"
#include "module_map.h"
#include "places.h"
#include "unwinder.h"

namespace numascape::symbols {
namespace {

std::string hexadecimal(std::uint64_t address) {
    char text[2 + 16 + 1];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

std::vector<Frame> find_frames(LoadedModule* module, std::uint64_t pc) {
    Frame unknown;
    unknown.function = hexadecimal(pc);
    if (module == nullptr) return {unknown};
    unknown.module = module->description().path;
    unknown.function = hexadecimal(pc - module->description().load_bias);
    if (module->dwfl() == nullptr) return {unknown};

    Dwarf_Addr bias = 0;
    if (CodeIndex* code = module->code(&bias)) {
        std::vector<Frame> frames = code->frames(pc - bias);
        for (Frame& frame : frames) {
            frame.module = module->description().path;
            if (frame.function.empty()) frame.function = unknown.function;
            frame.call_notes = module->call_notes().find(frame.file, frame.line, frame.column);
        }
        if (!frames.empty()) return frames;
    }
    FunctionSymbols::Match match = module->functions().find(pc);
    if (match.name.empty()) return {unknown};
    unknown.function = std::move(match.name);
    unknown.offset = match.offset;
    return {unknown};
}

}  // namespace

struct Symbols::State {
    explicit State(std::vector<Module> given)
        : modules(std::move(given)), unwinder(modules.session()) {}

    ModuleMap modules;
    Unwinder unwinder;
    std::unordered_map<std::uint64_t, std::vector<Frame>> frames;
};

Symbols::Symbols(std::vector<Module> modules)
    : state_(std::make_unique<State>(std::move(modules))) {}

Symbols::~Symbols() = default;

const std::vector<Frame>& Symbols::frames(std::uint64_t pc) {
    const auto known = state_->frames.find(pc);
    if (known != state_->frames.end()) return known->second;
    std::vector<Frame> frames = find_frames(state_->modules.find(pc), pc);
    return state_->frames.emplace(pc, std::move(frames)).first->second;
}

void Symbols::add_places(std::span<const std::uint64_t> pcs, PlaceCollector& collector) {
    for (const std::uint64_t pc : pcs) {
        const auto known = state_->frames.find(pc);
        collector.add(known != state_->frames.end() ? known->second
                                                    : find_frames(state_->modules.find(pc), pc));
    }
}

std::vector<std::uint64_t> Symbols::unwind(const Registers& registers, std::uint64_t stack_address,
                                           std::span<const std::byte> stack, std::size_t limit) {
    return state_->unwinder.unwind(registers, stack_address, stack, limit);
}

std::vector<Global> Symbols::globals() {
    std::vector<Global> all;
    for (const auto& module : state_->modules.modules()) {
        std::vector<Global> found = module_globals(*module);
        all.insert(all.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
    }
    return all;
}

}  // namespace numascape::symbols
