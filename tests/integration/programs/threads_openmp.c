// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication by an OpenMP team; thread 0 of the team is main.
#include <omp.h>

#include "columns.h"

int main(int argc, char** argv) {
    read_arguments(argc, argv);
    omp_set_dynamic(0);
#pragma omp parallel num_threads((int)threads)
    multiply_columns(omp_get_thread_num());
    return 0;
}
