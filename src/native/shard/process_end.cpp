// SPDX-License-Identifier: Apache-2.0
#include "process_end.h"

#include "os.h"
#include "process_maps.h"

namespace numascape {

void write_process_end(ShardWriter& shard, ThreadRecorder& recorder) {
    shard.each_thread([&](const ThreadRecorder& thread) {
        char name[16];
        read_thread_name(thread.os_tid, name);
        shard.note_end(recorder, thread, name, kThreadEndsProcess);
    });
    auto* record = static_cast<ProcessExitRecord*>(
        shard.append(recorder, RecordType::kProcessExit, 0, sizeof(ProcessExitRecord)));
    record->time = os::ticks();
    shard.commit(recorder, record);
}

}  // namespace numascape
