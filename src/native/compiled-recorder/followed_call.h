// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

#include "locked_memory.h"
#include "memory_log.h"
#include "runtime.h"

namespace numascape {

extern MemoryLog memory;
extern LockedMemory locked_memory;
// Calls visit for each mapping that is not the recorder's.
void each_mapping(void (*visit)(const MappedRange&, void*), void* argument);

// A function of the C library that makes a system call. The effects on memory are recorded if the
// program itself calls the function. No code of ours is active while the function runs: it may
// block, be cancelled, or be interrupted by a handler.
class FollowedCall {
  public:
    explicit FollowedCall(const SystemCall& call) : FollowedCall(call, nullptr, 0, 0) {}
    // For a function that makes a mapping, with the program's registers at the call.
    FollowedCall(const SystemCall& call, const ProgramRegisters* from, uint64_t stack_pointer,
                 uint64_t pc);

    // Call it with the result of the function: -1 means that it failed.
    template <typename Result>
    Result returned(Result result) {
        if (recorder_ != nullptr) {
            const int error = errno;
            const auto value = reinterpret_or_cast(result);
            finish(value == -1 ? -static_cast<long>(error) : value);
            errno = error;
        }
        return result;
    }

  private:
    static long reinterpret_or_cast(void* result) { return reinterpret_cast<long>(result); }
    static long reinterpret_or_cast(long result) { return result; }
    void finish(long result);

    ThreadRecorder* recorder_ = nullptr;
    PendingCall pending_{};
};

// An argument of a system call.
inline uint64_t argument(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}
inline uint64_t argument(long number) {
    return static_cast<uint64_t>(number);
}
template <typename... Arguments>
SystemCall system_call(long number, Arguments... arguments) {
    return {number, {argument(arguments)...}, {}};
}

}  // namespace numascape
