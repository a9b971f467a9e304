// SPDX-License-Identifier: Apache-2.0
// The code that a Fortran program needs to name parts of its memory, as in docs/record.md.
#include "numascape/region.h"

void region(const char* name, const void* address, size_t bytes);

void region(const char* name, const void* address, size_t bytes) {
    numascape_region(name, address, bytes);
}
