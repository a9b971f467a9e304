// SPDX-License-Identifier: Apache-2.0
//
// Lets threads that another thread has stopped continue without DynamoRIO or in other code, and
// corrects the registers that DynamoRIO gets wrong.
#pragma once

#include "dr_api.h"

namespace numascape {

// Whether the registers of a stopped thread can be determined where it is. If not, it must be
// stopped again elsewhere. `info`: as in a restore-state event, for a thread in the code cache.
bool registers_known(const dr_restore_state_info_t& info);

// In info.mcontext, corrects the registers of the program that DynamoRIO has saved twice.
// `storage`: the start of DynamoRIO's storage of the thread.
void restore_saved_twice(void* drcontext, const dr_restore_state_info_t& info, const byte* storage);

}  // namespace numascape
