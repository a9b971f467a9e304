// SPDX-License-Identifier: Apache-2.0
//
// A thread that is stopped in a system call, and then made to execute something else, would find
// the call failed with an error that programs never see (ERESTART_RESTARTBLOCK) or do not expect
// (EINTR). The kernel would have restarted the call instead; so do we.
#pragma once

namespace numascape {

// The next time DynamoRIO's launcher library reads this thread's registers, the thread is put
// back to before the interrupted call.
void restart_interrupted_call_of(int thread);

}  // namespace numascape
