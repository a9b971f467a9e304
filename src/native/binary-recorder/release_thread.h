// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace numascape {

// numascape-attach sends the request to detach to this thread, after DynamoRIO has taken it over;
// see release_thread.cpp.
inline constexpr char kReleaseThreadName[] = "numascape";

// Creates the release thread in this process. Must be called before DynamoRIO takes over the
// threads of the program, so that it takes over this one, too.
void start_release_thread();
// Whether the calling thread is the release thread.
bool is_release_thread();
// DynamoRIO is gone: the thread ends as soon as it runs.
void end_release_thread();

}  // namespace numascape
