// SPDX-License-Identifier: Apache-2.0
#include "sampled_callers.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace numascape {
namespace {

// Code with frame pointers begins with: push frame pointer; mov stack pointer to frame pointer.
constexpr CallFrameRule kByFramePointer{
    static_cast<int32_t>(-2 * kReturnOffset), static_cast<int16_t>(2 * kReturnOffset),
    FrameAddress::kFromFramePointer, SavedFramePointer::kAtFrameAddress};

}  // namespace

uint32_t SampledCallers::of(const FaultEntry& entry, CallFrame frame, const StackCopy& stack,
                            bool in_kernel, std::vector<FaultEntry>& out) {
    callers_.clear();
    if (in_kernel) {
        callers_.push_back(frame.pc);
    }
    uint32_t call = walk(entry.pid, frame, stack) ? kNoCallers : kUnknownCallers;
    for (size_t i = callers_.size(); i-- > 0;) {
        call = number_of(entry, {entry.pid, call, callers_[i]}, out);
    }
    return call;
}

bool SampledCallers::walk(uint32_t number, CallFrame frame, const StackCopy& stack) {
    Process& process = processes_[number];
    const auto read_word = [&](uint64_t address, uint64_t& word) {
        const uint64_t position = address - stack.start;
        if (position < stack.bytes.size() && stack.bytes.size() - position >= sizeof word) {
            std::memcpy(&word, stack.bytes.data() + position, sizeof word);
            return true;
        }
        const auto now = memory_.number(static_cast<pid_t>(number), address, sizeof word);
        word = now.value_or(0);
        return now.has_value();
    };
    // The first address is that of the next instruction, all others are those behind a call.
    uint64_t pc = frame.pc;
    while (callers_.size() < kMaxFrames) {
        const Step step = step_to_caller(rule_at(number, process, pc), frame, read_word);
        if (step != Step::kCaller) {
            return step == Step::kOutermost;
        }
        pc = frame.pc - 1;
        if (code_at(number, process, pc) == nullptr) {
            return false;
        }
        callers_.push_back(pc);
    }
    return false;
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
    if (rule.frame_address == FrameAddress::kUnknown) {
        rule = kByFramePointer;
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
