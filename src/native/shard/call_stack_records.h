// SPDX-License-Identifier: Apache-2.0
//
// Records of call stacks.
#pragma once

#include <cstdint>

#include "frame_registers.h"
#include "record_header.h"

namespace numascape {

// A copy of the registers and the top of the stack, unwound when the shard is converted. The
// registers are in the order of DWARF's numbers. Followed by `bytes` of stack from the stack
// pointer upwards, padded to 8 bytes.
struct CallStackRecord {
    RecordHeader header;
    uint64_t stack_id;
    uint64_t registers[kDwarfRegisters];
    uint64_t bytes;
};

// The return addresses of a call stack, innermost first. Followed by `frames` words.
struct CallFramesRecord {
    RecordHeader header;
    uint64_t stack_id;
    uint64_t frames;
};

// The Python functions of a call stack, innermost first. Followed by `frames`
// PythonFrameEntries.
struct PythonFramesRecord {
    RecordHeader header;
    uint64_t stack_id;
    uint64_t frames;
};
struct PythonFrameEntry {
    uint64_t code;    // see PythonCodeRecord
    uint64_t offset;  // of the instruction, in bytes
};

// A code object of CPython. Followed by the characters of its file and of its function, and by its
// table of source places.
struct PythonCodeRecord {
    RecordHeader header;
    uint64_t code;  // identifies it
    uint32_t first_line;
    uint16_t version;    // 0x30b is 3.11
    uint8_t file_width;  // bytes of a character
    uint8_t function_width;
    uint32_t file_bytes;
    uint32_t function_bytes;
    uint32_t line_bytes;
    uint32_t reserved;
};

// The calls that led to first touches: their return addresses, innermost first. Followed by
// `frames` words.
struct TouchCallersRecord {
    RecordHeader header;  // flags = TouchCallersFlags
    uint64_t callers_id;
    uint64_t frames;
};
enum TouchCallersFlags : uint8_t { kOuterCallersUnknown = 1 };

}  // namespace numascape
