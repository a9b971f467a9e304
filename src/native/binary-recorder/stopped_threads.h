// SPDX-License-Identifier: Apache-2.0
//
// Threads that another thread has stopped, to send them on without DynamoRIO or in other code, and
// what DynamoRIO gets wrong about their registers.
#pragma once

#include "dr_api.h"

namespace numascape {

// Whether a stopped thread's registers can be had where it is; if not, it has to be stopped again
// elsewhere. `info`: as a restore-state event gets it, of a thread in the code cache.
bool registers_known(const dr_restore_state_info_t& info);

// Corrects those of the program's registers in info.mcontext that DynamoRIO has saved twice.
// `storage`: where the thread's storage of DynamoRIO's begins.
void restore_saved_twice(void* drcontext, const dr_restore_state_info_t& info, const byte* storage);

}  // namespace numascape
