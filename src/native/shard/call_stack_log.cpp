// SPDX-License-Identifier: Apache-2.0
#include "call_stack_log.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

constexpr size_t kScannedWords = 96;
constexpr size_t kWrittenBytes = 8192;
constexpr uint16_t kCopiesPerPlace = 256;
constexpr uint32_t kSteps = 1024;  // more than frames: recursive calls count as one frame

}  // namespace

bool CallStackLog::open() {
    return code_.open() && known_.open();
}

void CallStackLog::close() {
    code_.close();
    known_.close();
}

void CallStackLog::write_frames(ThreadRecorder& recorder, uint64_t id, const Walk& walked) {
    const size_t bytes = walked.frames * sizeof walked.addresses[0];
    auto* record = static_cast<CallFramesRecord*>(shard_.append(
        recorder, RecordType::kCallFrames, recorder.thread, sizeof(CallFramesRecord) + bytes));
    record->stack_id = id;
    record->frames = walked.frames;
    __builtin_memcpy(record + 1, walked.addresses, bytes);
    shard_.commit(recorder, record);
}

void CallStackLog::write_python(ThreadRecorder& recorder, uint64_t id,
                                const PythonFrame (&found)[PythonFrames::kMax], uint32_t frames) {
    PythonFrameEntry entries[PythonFrames::kMax];
    uint32_t count = 0;
    for (uint32_t i = 0; i < frames; ++i) {
        const uint64_t code = write_python_code(recorder, found[i].code);
        if (code != 0) {
            entries[count++] = {code, found[i].offset};
        }
    }
    if (count == 0) {
        return;
    }
    const size_t bytes = count * sizeof entries[0];
    auto* record = static_cast<PythonFramesRecord*>(shard_.append(
        recorder, RecordType::kPythonFrames, recorder.thread, sizeof(PythonFramesRecord) + bytes));
    record->stack_id = id;
    record->frames = count;
    __builtin_memcpy(record + 1, entries, bytes);
    shard_.commit(recorder, record);
}

// Returns what identifies the code object; 0 if there is none.
uint64_t CallStackLog::write_python_code(ThreadRecorder& recorder, uint64_t code) {
    PythonCode found;
    if (!python_.describe(code, found)) {
        return 0;
    }
    // Another code object may have been at this address before.
    const uint64_t id =
        mix(mix(mix(code, found.lines.address), found.function.address), found.first_line) | 1;
    if (!remember(id)) {
        return id;
    }
    auto* record = static_cast<PythonCodeRecord*>(
        shard_.append(recorder, RecordType::kPythonCode, recorder.thread,
                      sizeof(PythonCodeRecord) + found.bytes()));
    record->code = id;
    record->first_line = found.first_line;
    record->version = found.version;
    record->file_width = static_cast<uint8_t>(found.file.width);
    record->function_width = static_cast<uint8_t>(found.function.width);
    record->file_bytes = found.file.bytes;
    record->function_bytes = found.function.bytes;
    record->line_bytes = found.lines.bytes;
    found.copy(record + 1);
    shard_.commit(recorder, record);
    return id;
}

void CallStackLog::write_copy(ThreadRecorder& recorder, const ProgramRegisters& from, uint64_t pc,
                              const StackWords& stack, uint64_t id) {
    constexpr size_t kMax = kWrittenBytes / sizeof(uint64_t);
    const size_t count = stack.count() < kMax ? stack.count() : kMax;
    const size_t bytes = count * sizeof(uint64_t);
    auto* record = static_cast<CallStackRecord*>(shard_.append(
        recorder, RecordType::kCallStack, recorder.thread, sizeof(CallStackRecord) + bytes));
    record->stack_id = id;
    to_dwarf_order(from, stack.start(), pc, record->registers);
    record->bytes = stack.copy(stack.start(), reinterpret_cast<uint64_t*>(record + 1), count) *
                    sizeof(uint64_t);
    shard_.commit(recorder, record);
}

// `frame` must be in the called function, not in its caller.
void CallStackLog::walk(const StackWords& stack, CallFrame frame, Walk& found) {
    CallFrameRule rule = code_.rule_at(frame.pc);
    if (rule.frame_address == FrameAddress::kUnknown) {
        rule = kAtFunctionStart;
    }
    for (uint32_t steps = 0; found.frames < found.wanted && steps < kSteps; ++steps) {
        const Step step = step_to_caller(rule, frame, stack);
        found.stack_pointer = frame.stack_pointer;
        if (step == Step::kOutermost) {
            return;
        }
        if (step == Step::kUnknown || !code_.contains(frame.pc)) {
            found.complete = false;
            return;
        }
        found.add(frame.pc, code_, known_);
        rule = code_.rule_of_call(frame.pc);
    }
}

uint64_t CallStackLog::mix_code_words(const StackWords& stack, const Walk& walked) const {
    uint64_t id = walked.id;
    uint64_t words[kScannedWords];
    const size_t count = stack.copy(walked.stack_pointer, words, kScannedWords);
    for (size_t i = 0; i < count; ++i) {
        if (code_.contains(words[i])) {
            id = mix(id, code_.told_apart(words[i]));
        }
    }
    return id;
}

uint64_t CallStackLog::identify(ThreadRecorder& recorder, const ProgramRegisters& registers,
                                uint64_t pc, uint64_t stack_pointer, uint64_t bytes,
                                const HijackedWords& hijacked) {
    if (!shard_.makes_calls()) {
        return 0;
    }
    const StackWords stack(recorder, stack_pointer, hijacked);
    Walk walked(pc, stack_pointer);
    walk(stack, {pc, stack_pointer, frame_pointer(registers)}, walked);
    uint64_t id = walked.id;
    if (!walked.complete) {
        if (known_.at_place(walked.place) < kCopiesPerPlace) {
            id = mix_code_words(stack, walked);
        } else {
            shard_.set_flag(kShardStacksCut);
        }
    }
    PythonFrame python[PythonFrames::kMax];
    const uint32_t python_frames =
        bytes < kPageBytes
            ? 0
            : python_.walk(recorder.os_tid, recorder.python_state, walked.wanted, python);
    for (uint32_t i = 0; i < python_frames; ++i) {
        id = mix(mix(id, python[i].code), python[i].offset);
    }
    id |= 1;  // 0 means none
    if (remember(id)) {
        write_python(recorder, id, python, python_frames);
        known_.add(walked.place);
        if (walked.complete) {
            write_frames(recorder, id, walked);
        } else {
            write_copy(recorder, registers, pc, stack, id);
        }
    }
    return id;
}

uint64_t CallStackLog::frame_address(uint64_t pc, uint64_t stack_pointer, uint64_t frame_pointer) {
    const auto read_word = [](uint64_t address, uint64_t& to) {
        return os::read_memory(address, &to, sizeof to) == sizeof to;
    };
    CallFrame frame{pc, stack_pointer, frame_pointer};
    const CallFrameRule rule = code_.rule_at(pc);
    return step_to_caller(rule, frame, read_word) == Step::kCaller ? frame.stack_pointer : 0;
}

}  // namespace numascape
