// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include <cstdio>
#include <unordered_map>
#include <utility>

#include "frame_variables.h"
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

// By debug information; empty without it, also for parts of a file.
std::vector<Frame> read_frames(LoadedModule& module, std::uint64_t pc, const Frame& unknown) {
    Dwarf_Addr bias = 0;
    CodeIndex* code = module.code(&bias);
    if (code == nullptr) return {};
    std::vector<Frame> frames = code->frames(pc - bias);
    for (Frame& frame : frames) {
        frame.module = module.description().path;
        if (frame.function.empty()) frame.function = unknown.function;
        frame.call_notes = module.call_notes().find(frame.file, frame.line, frame.column);
    }
    return frames;
}

// By the symbol of the function.
Frame symbol_frame(LoadedModule& module, std::uint64_t pc, Frame unknown) {
    FunctionSymbols::Match match = module.functions().find(pc);
    if (match.name.empty()) return unknown;
    unknown.function = std::move(match.name);
    unknown.offset = match.offset;
    return unknown;
}

std::vector<Frame> find_frames(LoadedModule* module, std::uint64_t pc) {
    Frame unknown;
    unknown.function = hexadecimal(pc);
    if (module == nullptr) return {unknown};
    unknown.module = module->description().path;
    unknown.function = hexadecimal(pc - module->description().load_bias);
    if (module->dwfl() == nullptr) return {unknown};

    ModuleCache* cache = module->cache();
    const std::uint64_t in_file = pc - module->description().load_bias;
    if (cache != nullptr) {
        if (auto known = cache->frames(in_file)) {
            for (Frame& frame : *known) frame.module = module->description().path;
            return std::move(*known);
        }
    }
    std::vector<Frame> found = read_frames(*module, pc, unknown);
    const bool has_line = !found.empty();
    if (!has_line) found.push_back(symbol_frame(*module, pc, std::move(unknown)));
    // Without debug information, reading is as fast as the cache.
    Dwarf_Addr bias = 0;
    const CodeIndex* code = module->code(&bias);
    if (cache != nullptr && code != nullptr && !code->has_split_units() &&
        (has_line || cache->has_room_for_symbols())) {
        cache->add_frames(in_file, found);
    }
    return found;
}

// The .dwo files may change without the module.
bool has_split_units(LoadedModule& module) {
    Dwarf_Addr unused = 0;
    const CodeIndex* code = module.code(&unused);
    return code != nullptr && code->has_split_units();
}

std::vector<Global> cached_globals(LoadedModule& module) {
    ModuleCache* cache = module.is_whole() ? module.cache() : nullptr;
    const std::uint64_t bias = module.description().load_bias;
    if (cache != nullptr) {
        if (auto known = cache->globals()) {
            for (Global& global : *known) {
                global.address += bias;
                global.module = module.description().path;
            }
            return std::move(*known);
        }
    }
    std::vector<Global> found = module_globals(module);
    if (cache != nullptr && !has_split_units(module)) cache->set_globals(found, bias);
    return found;
}

std::vector<Global> cached_thread_variables(LoadedModule& module) {
    ModuleCache* cache = module.thread_cache();
    if (cache != nullptr) {
        if (auto known = cache->globals()) return std::move(*known);
    }
    std::vector<Global> found = module_thread_variables(module);
    if (cache != nullptr && !has_split_units(module)) cache->set_globals(found, 0);
    return found;
}

// Samples do not distinguish parts of a granule: see PageParts in src/native/shard/page_parts.h.
constexpr int kGranuleBits = 4;
// The name of several variables contains at most this many; if there are more, it ends with
// "others".
constexpr std::size_t kMaxJoinedNames = 3;

// Whether both are small and have parts of the same granule.
bool share_granule(const FrameVariable& before, std::int64_t offset, std::uint64_t size) {
    constexpr std::uint64_t kGranule = 1U << kGranuleBits;
    const std::int64_t last = before.offset + static_cast<std::int64_t>(before.size) - 1;
    return before.size < kGranule && size < kGranule &&
           last >> kGranuleBits == offset >> kGranuleBits;
}

// Adds the next variable, which ends at `end`, to `variable`, which has `joined` of them already.
void join(FrameVariable& variable, std::size_t joined, const std::string& next, std::int64_t end) {
    variable.size = static_cast<std::uint64_t>(end - variable.offset);
    if (joined <= kMaxJoinedNames)
        variable.name += " and " + (joined < kMaxJoinedNames ? next : "others");
}

}  // namespace

struct Symbols::State {
    State(std::vector<Module> given, std::string cache)
        : modules(std::move(given), std::move(cache)), unwinder(modules.session()) {}

    ModuleMap modules;
    Unwinder unwinder;
    std::unordered_map<std::uint64_t, std::vector<Frame>> frames;
};

Symbols::Symbols(std::vector<Module> modules, std::string cache)
    : state_(std::make_unique<State>(std::move(modules), std::move(cache))) {}

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

std::vector<FrameVariable> Symbols::frame_variables(std::uint64_t pc, bool of_data) {
    LoadedModule* module = state_->modules.find(pc);
    Dwarf_Addr bias = 0;
    CodeIndex* code =
        module != nullptr && module->dwfl() != nullptr ? module->code(&bias) : nullptr;
    std::optional<Dwarf_Die> function = code != nullptr ? code->function(pc - bias) : std::nullopt;
    if (!function) return {};
    std::vector<FrameVariable> found =
        of_data ? variables_made_at(*function, code->frames(pc - bias).front().line)
                : symbols::frame_variables(*function);
    for (FrameVariable& variable : found) variable.module = module->description().path;
    return found;
}

void Symbols::save() const {
    for (const auto& module : state_->modules.modules()) module->save();
}

std::vector<FrameVariable> Symbols::thread_variables(std::uint64_t address) {
    LoadedModule* module = state_->modules.find(address);
    if (module == nullptr || !module->thread_segment()) return {};
    std::vector<FrameVariable> variables;
    std::size_t joined = 1;
    for (Global& found : cached_thread_variables(*module)) {
        const auto offset =
            static_cast<std::int64_t>(found.address - module->thread_segment()->below_pointer);
        if (!variables.empty() && share_granule(variables.back(), offset, found.size)) {
            const std::int64_t end = offset + static_cast<std::int64_t>(found.size);
            join(variables.back(), joined++, found.name, end);
            continue;
        }
        joined = 1;
        variables.push_back({.name = std::move(found.name),
                             .function = std::move(found.function),
                             .file = std::move(found.file),
                             .module = module->description().path,
                             .line = found.line,
                             .base = FrameBase::kThreadPointer,
                             .offset = offset,
                             .size = found.size});
    }
    return variables;
}

std::vector<Global> Symbols::globals() {
    std::vector<Global> all;
    for (const auto& module : state_->modules.modules()) {
        std::vector<Global> found = cached_globals(*module);
        all.insert(all.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
    }
    return all;
}

}  // namespace numascape::symbols
