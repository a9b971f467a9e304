// SPDX-License-Identifier: Apache-2.0
//
// The files of the shard of this process. A process that may not create them (another user, another
// root directory, a limit on file sizes) asks `numascape record`, which runs at the same time.
#pragma once

#include <cstdint>

#include "dr_api.h"

namespace numascape {

// Sets the server of files: SOCKET and SECRET of the option -files.
void serve_shard_files_by(const char* socket, const char* secret);

struct ShardFiles {
    file_t shard = INVALID_FILE;
    file_t tables = INVALID_FILE;
};

// Opens the files of a shard with a new name; false if this is not possible.
bool open_shard_files(ShardFiles& files);
// Files in memory, for a process that cannot be recorded but continues.
ShardFiles memory_shard_files();
// The files of a process that begins. A process to which the recorder is attached, and its
// children, must not end because there is no shard. Children may still execute programs when the
// recording is over and its directory is gone; they continue unrecorded.
bool open_first_shard_files(ShardFiles& files);
// The name of the shard, as other shards call it.
const char* shard_name();

// Sets the size of a file of the shard; negative on failure. Never raises a signal.
long grow_shard_file(int file, uint64_t bytes);

}  // namespace numascape
