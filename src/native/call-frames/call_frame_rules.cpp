// SPDX-License-Identifier: Apache-2.0
#include "call_frame_rules.h"

#include <bit>

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

constexpr uint32_t kTries = 16;
// This bit marks a rule that was read, because the rule itself may be 0. It is the highest bit of
// CallFrameRule::saved, and no value of SavedFramePointer has it.
constexpr uint64_t kRead = uint64_t{1} << 63;

}  // namespace

bool CallFrameRules::open() {
    entries_ = map_private<Entry>(kEntries * sizeof(Entry));
    modules_ = map_private<Module>(kModules * sizeof(Module));
    return entries_ != nullptr && modules_ != nullptr;
}

void CallFrameRules::close() {
    os::unmap(entries_, kEntries * sizeof(Entry));
    os::unmap(modules_, kModules * sizeof(Module));
}

void CallFrameRules::add_module(uint64_t start, uint64_t end) {
    const ModuleFrames found = find_frame_information(start, end);
    for (uint32_t i = 0; found.table != 0 && i < kModules; ++i) {
        const uint64_t known = modules_[i].start.load();
        if (known != 0 && known != start) {
            continue;
        }
        modules_[i].end.store(found.end);
        modules_[i].table.store(found.table);
        modules_[i].start.store(start);
        if (i >= modules_used_.load()) {
            modules_used_.store(i + 1);  // no race: the loader loads one module at a time
        }
        return;
    }
}

void CallFrameRules::remove_module(uint64_t start) {
    for (uint32_t i = 0; i < modules_used_.load(); ++i) {
        if (modules_[i].start.load() == start) {
            modules_[i].start.store(0);
        }
    }
}

ModuleFrames CallFrameRules::module_of(uint64_t pc) const {
    for (uint32_t i = 0; i < modules_used_.load(); ++i) {
        const ModuleFrames module{modules_[i].start.load(), modules_[i].end.load(),
                                  modules_[i].table.load()};
        if (module.start != 0 && pc >= module.start && pc < module.end) {
            return module;
        }
    }
    return {};
}

CallFrameRule CallFrameRules::read(uint64_t pc) const {
    const ModuleFrames module = module_of(pc);
    return module.start != 0 ? read_call_frame_rule(module, pc) : CallFrameRule{};
}

bool CallFrameRules::find_function(uint64_t pc, uint64_t& start, uint64_t& end) const {
    const ModuleFrames module = module_of(pc);
    return module.start != 0 && find_described_code(module, pc, start, end);
}

// Several threads may read and store the same rule at the same time: they store the same value.
CallFrameRule CallFrameRules::at(uint64_t pc, uint64_t key) {
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    for (uint32_t tries = 0; tries < kTries; ++tries) {
        Entry& entry = entries_[(hash + tries) % kEntries];
        uint64_t known = entry.key.load(std::memory_order_acquire);
        if (known == 0 && entry.key.compare_exchange_strong(known, key)) {
            known = key;
        }
        if (known != key) {
            continue;
        }
        const uint64_t rule = entry.rule.load(std::memory_order_acquire);
        if (rule != 0) {
            return std::bit_cast<CallFrameRule>(rule & ~kRead);
        }
        const CallFrameRule found = read(pc);
        entry.rule.store(std::bit_cast<uint64_t>(found) | kRead, std::memory_order_release);
        return found;
    }
    return read(pc);
}

}  // namespace numascape
