// SPDX-License-Identifier: Apache-2.0
#include "thread_pointer.h"

#include <asm/prctl.h>
#include <sys/syscall.h>

#include "dr_api.h"

namespace numascape {

uint64_t thread_pointer() {
    dr_mcontext_t context{};
    context.size = sizeof context;
    context.flags = DR_MC_INTEGER;
    // The base of fs, as the program knows it.
    const opnd_t first =
        opnd_create_far_base_disp(DR_SEG_FS, DR_REG_NULL, DR_REG_NULL, 0, 0, OPSZ_8);
    return reinterpret_cast<uint64_t>(opnd_compute_address(first, &context));
}

bool may_set_thread_pointer(int number) {
    return number == SYS_arch_prctl;
}

uint64_t thread_pointer_to_set(void* drcontext) {
    const bool sets = dr_syscall_get_param(drcontext, 0) == ARCH_SET_FS;
    return sets ? dr_syscall_get_param(drcontext, 1) : 0;
}

}  // namespace numascape
