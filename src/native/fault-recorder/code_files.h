// SPDX-License-Identifier: Apache-2.0
//
// The executables and libraries of other processes, mapped in this process so that their call frame
// information can be read.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "frame_information.h"

namespace numascape {

// An ELF file, laid out as the dynamic linker does.
struct CodeFile {
    struct Segment {
        uint64_t offset;   // in the file, from a page boundary on
        uint64_t end;      // in the file
        uint64_t address;  // of `offset` in this process
    };
    std::vector<Segment> segments;
    ModuleFrames frames;

    // The address in this process of the byte at this offset of the file; 0 if it is not mapped.
    uint64_t address_of(uint64_t offset) const;
};

class CodeFiles {
  public:
    // The file that the process knows by this path; null if it cannot be read. Valid as long as
    // this object.
    const CodeFile* find(pid_t process, const std::string& path);

  private:
    std::unordered_map<std::string, const CodeFile*> by_identity_;  // device, inode, size and time
    std::deque<CodeFile> files_;
};

}  // namespace numascape
