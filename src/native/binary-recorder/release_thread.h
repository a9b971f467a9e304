// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace numascape {

// numascape-attach sends the request to detach to this thread, after DynamoRIO has taken it over;
// see release_thread.cpp.
inline constexpr char kReleaseThreadName[] = "numascape";

// Creates it in this process; before DynamoRIO takes the program's threads over, and it with them.
void start_release_thread();
// Whether the calling thread is it.
bool is_release_thread();
// DynamoRIO is gone: the thread ends as soon as it runs.
void end_release_thread();

}  // namespace numascape
