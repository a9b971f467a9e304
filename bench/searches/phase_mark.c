// SPDX-License-Identifier: Apache-2.0
// For programs in Python: begins a phase of a recording.
#include <numascape/phase.h>

void mark(const char* name) {
    numascape_phase(name);
}
