// SPDX-License-Identifier: Apache-2.0
// What docs/record.md says a Fortran program needs to set marks.
#include "numascape/phase.h"

void phase(const char* name);

void phase(const char* name) {
    numascape_phase(name);
}
