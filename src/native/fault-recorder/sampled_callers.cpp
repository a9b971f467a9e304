// SPDX-License-Identifier: Apache-2.0
#include "sampled_callers.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "call_instructions.h"

namespace numascape {

uint32_t SampledCallers::of(const FaultEntry& entry, const SampledRegisters& registers,
                            const StackCopy& stack, bool in_kernel, std::vector<FaultEntry>& out) {
    callers_.clear();
    if (in_kernel) {
        callers_.push_back(registers.pc);
    }
    uint32_t call = walk(entry.pid, registers, stack) ? kNoCallers : kUnknownCallers;
    for (size_t i = callers_.size(); i-- > 0;) {
        call = number_of(entry, {entry.pid, call, callers_[i]}, out);
    }
    return call;
}

bool SampledCallers::read_word(uint32_t number, const StackCopy& stack, uint64_t address,
                               uint64_t& word) {
    const uint64_t position = address - stack.start;
    if (position < stack.bytes.size() && stack.bytes.size() - position >= sizeof word) {
        std::memcpy(&word, stack.bytes.data() + position, sizeof word);
        return true;
    }
    const auto now = memory_.number(static_cast<pid_t>(number), address, sizeof word);
    word = now.value_or(0);
    return now.has_value();
}

bool SampledCallers::walk(uint32_t number, const SampledRegisters& registers,
                          const StackCopy& stack) {
    Process& process = processes_[number];
    const auto read = [&](uint64_t address, uint64_t& word) {
        return read_word(number, stack, address, word);
    };
    CallFrame frame = innermost_frame(registers);
    // The first address is that of the next instruction, all others are those behind a call.
    uint64_t pc = frame.pc;
    const SampledRegisters* innermost = &registers;
    while (callers_.size() < kMaxFrames) {
        const CallFrameRule rule = rule_at(number, process, pc);
        const Step step = rule.frame_address == FrameAddress::kUnknown
                              ? guess_caller(number, process, innermost, stack, frame)
                              : step_to_caller(rule, frame, read);
        if (step != Step::kCaller) {
            return step == Step::kOutermost;
        }
        innermost = nullptr;
        pc = frame.pc - 1;
        if (code_at(number, process, pc) == nullptr) {
            return false;
        }
        callers_.push_back(pc);
    }
    return false;
}

Step SampledCallers::guess_caller(uint32_t number, Process& process,
                                  const SampledRegisters* registers, const StackCopy& stack,
                                  CallFrame& frame) {
    const auto read = [&](uint64_t address, uint64_t& word) {
        return read_word(number, stack, address, word);
    };
    CallFrame caller = frame;
    if (step_to_caller(kByFramePointer, caller, read) == Step::kCaller &&
        is_return_address(number, process, caller.pc)) {
        frame = caller;
        return Step::kCaller;
    }
    if (registers == nullptr) {
        return Step::kUnknown;
    }
    std::vector<uint64_t> places;
    for (const uint64_t value : registers->general) {
        if (value - frame.stack_pointer < kMaxDistance && value % sizeof(uint64_t) == 0) {
            places.push_back(value);
        }
    }
    std::sort(places.begin(), places.end());
    for (const uint64_t place : places) {
        for (uint64_t i = 0; i < kSearched; ++i) {
            const uint64_t at = place + i * sizeof(uint64_t);
            uint64_t word = 0;
            if (read(at, word) && is_return_address(number, process, word)) {
                frame = {word, at + sizeof(uint64_t), frame.frame_pointer};
                return Step::kCaller;
            }
        }
    }
    return Step::kUnknown;
}

bool SampledCallers::is_return_address(uint32_t number, Process& process, uint64_t address) {
    const Code* code = code_at(number, process, address - 1);
    if (code == nullptr || code->file == nullptr) {
        return false;
    }
    const auto before =
        memory_.number(static_cast<pid_t>(number), address - sizeof(uint64_t), sizeof(uint64_t));
    return before && ends_call(*before);
}

CallFrameRule SampledCallers::rule_at(uint32_t number, Process& process, uint64_t pc) {
    if (process.rules.size() > kMaxRules) {
        process.rules.clear();
    }
    const auto known = process.rules.find(pc);
    if (known != process.rules.end()) {
        return known->second;
    }
    const Code* code = code_at(number, process, pc);
    CallFrameRule rule;
    if (code != nullptr && code->file != nullptr && code->shift != 0) {
        rule = read_call_frame_rule(code->file->frames, pc + code->shift);
    }
    if (code != nullptr) {
        process.rules.emplace(pc, rule);
    }
    return rule;
}

const SampledCallers::Code* SampledCallers::code_at(uint32_t number, Process& process,
                                                    uint64_t pc) {
    const auto find = [&]() -> const Code* {
        const auto after =
            std::upper_bound(process.code.begin(), process.code.end(), pc,
                             [](uint64_t at, const Code& c) { return at < c.start; });
        return after != process.code.begin() && pc < (after - 1)->end ? &*(after - 1) : nullptr;
    };
    const Code* found = find();
    if (found == nullptr && round_ >= process.next_look) {
        look(number, process);
        found = find();
    }
    return found;
}

// If unknown code is executed again and again, the mappings are read less and less often.
void SampledCallers::look(uint32_t number, Process& process) {
    process.next_look = round_ + (uint64_t{1} << std::min(process.looks, kMaxShift));
    ++process.looks;
    process.code.clear();
    std::ifstream maps("/proc/" + std::to_string(number) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        uint64_t start = 0;
        uint64_t end = 0;
        uint64_t offset = 0;
        char access[5] = {};
        int path = 0;
        if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &start,
                        &end, access, &offset, &path) != 4 ||
            access[2] != 'x') {
            continue;
        }
        const std::string name = line.substr(std::min(static_cast<size_t>(path), line.size()));
        const bool is_file = name.starts_with('/');
        const CodeFile* file = is_file ? files_.find(static_cast<pid_t>(number), name) : nullptr;
        const uint64_t at = file != nullptr ? file->address_of(offset) : 0;
        process.code.push_back({start, end, file, at != 0 ? at - start : 0});
    }
}

uint32_t SampledCallers::number_of(const FaultEntry& entry, const Call& call,
                                   std::vector<FaultEntry>& out) {
    const auto known = calls_.find(call);
    if (known != calls_.end()) {
        return known->second;
    }
    if (calls_.size() >= kMaxCalls) {
        return kUnknownCallers;
    }
    calls_.emplace(call, next_);
    FaultEntry& added = out.emplace_back(entry);
    added.kind = FaultKind::kCall;
    added.pc = call.pc;
    added.address = next_;
    added.callers = call.callers;
    return next_++;
}

}  // namespace numascape
