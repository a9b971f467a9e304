// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>

#include "os.h"
#include "pages.h"

namespace numascape {

// The places of some parts of the module whose ELF header is mapped at `start`.
struct ProgramHeaders {
    uint64_t bias = 0;     // address of a part - its address in the file
    uint64_t frames = 0;   // .eh_frame_hdr; 0: none
    uint64_t dynamic = 0;  // the array of Elf64_Dyn; 0: none
};

// False if there is no ELF header. The module's memory may hold anything.
inline bool read_program_headers(uint64_t start, ProgramHeaders& found) {
    constexpr unsigned kMax = 512;
    Elf64_Ehdr header{};
    if (os::read_memory(start, &header, sizeof header) != sizeof header ||
        __builtin_memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(Elf64_Phdr)) {
        return false;
    }
    uint64_t lowest = ~uint64_t{0};
    for (unsigned i = 0; i < header.e_phnum && i < kMax; ++i) {
        Elf64_Phdr program{};
        const uint64_t at = start + header.e_phoff + i * sizeof program;
        if (os::read_memory(at, &program, sizeof program) != sizeof program) {
            return false;
        }
        if (program.p_type == PT_LOAD && program.p_vaddr < lowest) {
            lowest = program.p_vaddr;
        }
        if (program.p_type == PT_GNU_EH_FRAME) {
            found.frames = program.p_vaddr;
        }
        if (program.p_type == PT_DYNAMIC) {
            found.dynamic = program.p_vaddr;
        }
    }
    found.bias = start - (lowest & ~(kPageBytes - 1));
    found.frames += found.frames != 0 ? found.bias : 0;
    found.dynamic += found.dynamic != 0 ? found.bias : 0;
    return true;
}

}  // namespace numascape
