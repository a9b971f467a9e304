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
inline constexpr char kDynamorioSettings[] = "-code_api -disable_traces -stack_size 64K";

}  // namespace numascape
