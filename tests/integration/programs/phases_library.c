// SPDX-License-Identifier: Apache-2.0
// A library with a mark of its own.
#include "kernels.h"
#include "numascape/phase.h"

void work(long* data, long count);

void work(long* data, long count) {
    numascape_phase("in the library");
    write_strided(data, count, 8);
    numascape_phase(NULL);
}
