// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace numascape {

// Settings of DynamoRIO that recording needs, however it enters a program.
//
// No traces: DynamoRIO would join blocks that were executed 50 times to longer pieces of code.
// Until then each of their executions leaves the code cache, and our code is inserted into every
// block a second and a third time. A compiler that is recorded took twice as long with traces, the
// Python interpreter 1.6 times. Programs that spend their time in a few loops gain nothing: our
// code is much longer than the jumps that traces save.
//
// DynamoRIO waits until all threads are at places where they can be released. This takes up to
// 60000 rounds of some 10 ms: ten minutes, as long as the launcher waits. By default, DynamoRIO
// waits for 10000 rounds, and then ends the process. A thread that only waits in a short loop
// needed 200 to 3000 rounds on an idle machine. The reason is that it is nearly always interrupted
// at a place where its registers cannot be translated.
inline constexpr char kDynamorioSettings[] =
    "-code_api -disable_traces -stack_size 64K -synch_all_threads_max_loops 60000";

}  // namespace numascape
