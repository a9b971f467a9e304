// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdwfl.h>

#include <string>
#include <vector>

namespace numascape::symbols {

// libdwfl's callback that finds separate debug information on this machine: by build ID and by
// .gnu_debuglink, next to the file and below /usr/lib/debug. libdwfl's own
// dwfl_standard_find_debuginfo would also ask debuginfod servers on the network.
int find_local_debug_file(Dwfl_Module* module, void** userdata, const char* module_name,
                          Dwarf_Addr base, const char* file_name, const char* debuglink_file,
                          GElf_Word debuglink_crc, char** debuginfo_file_name);

// The paths where separate debug information of an ELF file may be. The files need not exist.
std::vector<std::string> debug_file_candidates(Elf* elf, const std::string& path,
                                               const std::string& build_id);

}  // namespace numascape::symbols
