// SPDX-License-Identifier: Apache-2.0
// The code that a Fortran program needs to set marks, as in docs/record.md.
#include "numascape/phase.h"

void phase(const char* name);

void phase(const char* name) {
    numascape_phase(name);
}
