// SPDX-License-Identifier: Apache-2.0
#include "replayed_call_stacks.h"

#include <cstring>
#include <iterator>
#include <utility>

namespace numascape {
namespace {

void add_copy(const RecordView& record, Replay& replay) {
    const auto& stack = record.as<CallStackRecord>();
    const auto rest = record.rest<CallStackRecord>().first(stack.bytes);
    replay.call_stacks.try_emplace(
        stack.stack_id, CallStack{{},
                                  {std::begin(stack.registers), std::end(stack.registers)},
                                  {rest.begin(), rest.end()}});
}

void add_frames(const RecordView& record, Replay& replay) {
    const auto& stack = record.as<CallFramesRecord>();
    const auto rest = record.rest<CallFramesRecord>();
    std::vector<uint64_t> frames(stack.frames);
    std::memcpy(frames.data(), rest.data(), frames.size() * sizeof(uint64_t));
    replay.call_stacks.try_emplace(stack.stack_id, CallStack{std::move(frames), {}, {}});
}

void add_touch_callers(const RecordView& record, Replay& replay) {
    const auto& callers = record.as<TouchCallersRecord>();
    const auto rest = record.rest<TouchCallersRecord>();
    std::vector<uint64_t> frames(callers.frames);
    std::memcpy(frames.data(), rest.data(), frames.size() * sizeof(uint64_t));
    const bool complete = (record.header->flags & kOuterCallersUnknown) == 0;
    replay.touch_callers.try_emplace(callers.callers_id,
                                     TouchingCalls{std::move(frames), complete});
}

void add_python_stack(const RecordView& record, Replay& replay) {
    const auto& stack = record.as<PythonFramesRecord>();
    const auto rest = record.rest<PythonFramesRecord>();
    std::vector<PythonFrameEntry> frames(stack.frames);
    std::memcpy(frames.data(), rest.data(), frames.size() * sizeof(PythonFrameEntry));
    replay.python_stacks.try_emplace(stack.stack_id, std::move(frames));
}

void add_python_function(const RecordView& record, Replay& replay) {
    const auto& code = record.as<PythonCodeRecord>();
    const auto rest = record.rest<PythonCodeRecord>();
    const auto text = [&](size_t from, size_t bytes) {
        return std::string(reinterpret_cast<const char*>(rest.data()) + from, bytes);
    };
    const size_t lines = size_t{code.file_bytes} + code.function_bytes;
    replay.python_functions.try_emplace(
        code.code,
        PythonFunction{code.version, code.first_line, code.file_width, code.function_width,
                       text(0, code.file_bytes), text(code.file_bytes, code.function_bytes),
                       text(lines, code.line_bytes)});
}

}  // namespace

bool is_of_call_stack(const RecordView& record) {
    switch (record.type()) {
        case RecordType::kCallStack:
        case RecordType::kCallFrames:
        case RecordType::kTouchCallers:
        case RecordType::kPythonFrames:
        case RecordType::kPythonCode:
            return true;
        default:
            return false;
    }
}

void add_call_stack(const RecordView& record, Replay& replay) {
    switch (record.type()) {
        case RecordType::kCallStack:
            add_copy(record, replay);
            break;
        case RecordType::kCallFrames:
            add_frames(record, replay);
            break;
        case RecordType::kTouchCallers:
            add_touch_callers(record, replay);
            break;
        case RecordType::kPythonFrames:
            add_python_stack(record, replay);
            break;
        case RecordType::kPythonCode:
            add_python_function(record, replay);
            break;
        default:
            break;
    }
}

}  // namespace numascape
