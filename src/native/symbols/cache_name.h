// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libelf.h>

#include <string>

namespace numascape::symbols {

// The name of the cached symbols of an ELF file that is open as `fd`: its build ID, and a hash of
// all else that decides what is read. The same build ID may be that of a file before and after
// `strip`, or with and without separate debug information. Empty for files without a build ID.
std::string cache_name(Elf* elf, int fd, const std::string& path);

}  // namespace numascape::symbols
