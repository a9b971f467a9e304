// SPDX-License-Identifier: Apache-2.0
//
// Reads /proc/self/maps from inside the recorded program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace numascape {

struct MappedRange {
    uint64_t start;
    uint64_t end;
    bool accessible;
    bool writable;
    bool executable;
    bool shared;       // between processes: writing keeps its pages
    const char* path;  // "" when anonymous; "[heap]", "[stack]"... as the kernel says
};

// Where the mappings of DynamoRIO, those of the recorder (kOwnMappings in os.h) and the tables of
// shards (kTablesBase in shard_writer.h) are.
inline constexpr uint64_t kOwnMemoryStart = 0x0d00'0000'0000;
inline constexpr uint64_t kOwnMemoryEnd = 0x5100'0000'0000;

// Calls visit for every mapping that begins outside of the recorder's own memory.
void each_process_mapping(void (*visit)(const MappedRange&, void*), void* argument);

struct StackRange {
    uint64_t start;
    uint64_t end;
};
// The main thread's stack, which grows down on demand as far as the limit says.
StackRange find_main_stack();

// The name of a thread of this process, NUL-terminated; "" when there is none of this id.
void read_thread_name(uint32_t os_tid, char (&name)[16]);
// Of the calling thread.
void read_own_name(char (&name)[16]);

// Writes `number` in decimal digits and a NUL; returns where the NUL is.
char* append_number(char* to, uint64_t number);
char* append_text(char* to, const char* text, size_t room);

}  // namespace numascape
