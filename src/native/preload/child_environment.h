// SPDX-License-Identifier: Apache-2.0
//
// The environment variables of a preloaded library do not belong to the program. The program does
// not see them. The programs that it executes get them, even if it passes another environment.
#pragma once

#include <cstddef>

#include "os.h"

namespace numascape {

class ChildEnvironment {
  public:
    // Takes this library out of LD_PRELOAD, and the variables of these names out of `environ`.
    // Changes nothing when there is no room to remember them.
    void hide(const char* const* names, size_t count);

    // Calls `run(environment)` with the environment of the program and the hidden variables. It
    // takes no lock and allocates nothing, because it may run in a child of vfork. A function that
    // calls this is not inlined, because the environment is on its frame.
    template <typename Run>
    [[gnu::noinline]] auto with(char* const* program, Run run) const {
        constexpr size_t kMaxOnStack = 32 * 1024;
        static char* const empty[] = {nullptr};
        if (kept_count_ == 0) {
            return run(program);
        }
        program = program != nullptr ? program : empty;
        const size_t bytes = bytes_for(program);
        if (bytes <= kMaxOnStack) {
            return run(merge(program, __builtin_alloca(bytes)));
        }
        void* memory = os::map_sparse(bytes);
        if (os::failed(memory)) {
            return run(program);
        }
        const auto result = run(merge(program, memory));
        os::unmap(memory, bytes);
        return result;
    }

  private:
    // Removes our variables from `environ`.
    void clean();

    static constexpr size_t kMaxKept = 8;
    static constexpr size_t kRoom = 16384;

    bool is_kept(const char* variable) const;
    size_t bytes_for(char* const* program) const;
    char* const* merge(char* const* program, void* memory) const;
    char* keep(const char* text, size_t length);

    const char* library_ = nullptr;     // as LD_PRELOAD names it
    const char* kept_[kMaxKept] = {};   // NAME=VALUE
    size_t kept_names_[kMaxKept] = {};  // bytes of NAME=
    size_t kept_count_ = 0;
    char preload_[4096] = {};  // what is left of LD_PRELOAD, as NAME=VALUE
    char room_[kRoom] = {};
    size_t used_ = 0;
};

extern ChildEnvironment child_environment;

}  // namespace numascape
