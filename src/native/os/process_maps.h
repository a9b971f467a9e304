// SPDX-License-Identifier: Apache-2.0
//
// Reads /proc/self/maps from inside the recorded program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace numascape {

// The object that a shared mapping maps, the same in all processes: a file, or memory that the
// kernel numbers like a file (anonymous shared memory; for System V, `inode` is the segment's id).
struct MappedObject {
    uint64_t device;  // major number << 32 | minor number, and kSegmentOfSystemV
    uint64_t inode;   // 0: not known
    uint64_t offset;  // of the first byte of the mapping
};

// The kernel numbers segments of System V and other memory independently.
inline constexpr uint64_t kSegmentOfSystemV = uint64_t{1} << 63;

struct MappedRange {
    uint64_t start;
    uint64_t end;
    bool accessible;
    bool writable;
    bool executable;
    bool shared;  // between processes: writing keeps its pages
    MappedObject object;
    const char* path;  // "" when anonymous; "[heap]", "[stack]"... as the kernel says
};

// Whether a mapping of DynamoRIO or of the recorder (kOwnMappings in os.h) begins here. Such places
// must be small parts of the address space, because JavaScript engines map memory at random
// addresses. The tables of shards are elsewhere (ShardWriter::owns).
bool is_own_place(uint64_t address);

// Calls visit for every mapping that does not begin at a place of the recorder.
void each_process_mapping(void (*visit)(const MappedRange&, void*), void* argument);

// The object that is mapped at the address, if it is mapped shared.
MappedObject shared_object_at(uint64_t address);
// The object of a regular file that is mapped shared from `offset` on.
MappedObject object_of_file(int file, uint64_t offset);

struct MappingRange {
    uint64_t start;
    uint64_t end;
};
// The mapping at the address, from a kernel that can be asked for one (Linux 6.11); else {0, 0}.
// The time does not depend on the number of mappings, unlike that of each_process_mapping.
MappingRange query_mapping(uint64_t address);
// Whether a guard ends at `address`: a small mapping that cannot be accessed, as below a stack.
bool ends_guard(uint64_t address);
// A thread begins with this stack pointer, which is in `mapping`. Returns the part of `mapping`
// that is its stack. The program may have taken the stack from memory with another use, as Go's
// runtime does.
MappingRange stack_within(MappingRange mapping, uint64_t stack_pointer);
// The main thread's stack, which grows down on demand as far as the limit says.
MappingRange find_main_stack();

// The name of a thread of this process, NUL-terminated; "" when there is none of this id.
void read_thread_name(uint32_t os_tid, char (&name)[16]);
// The name of the calling thread.
void read_own_name(char (&name)[16]);

// Writes `number` in decimal digits and a NUL; returns where the NUL is.
char* append_number(char* to, uint64_t number);
char* append_text(char* to, const char* text, size_t room);

}  // namespace numascape
