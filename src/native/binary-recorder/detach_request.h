// SPDX-License-Identifier: Apache-2.0
//
// DynamoRIO leaves a process when one of its threads gets a "nudge": a queued signal, SIGILL, that
// DynamoRIO recognises by its contents.
//
// If a signal of this number is already pending for a thread, the kernel drops a second one.
// DynamoRIO suspends threads by SIGILL too, for instance while a thread forks. We therefore stop
// the thread and look whether it has the nudge. It must not be sent twice: when DynamoRIO has left,
// SIGILL ends the process.
#pragma once

namespace numascape {

// Sends the nudge to the release thread of the process. False if the thread did not get it: try
// again.
bool request_detach(int process, int thread);

}  // namespace numascape
