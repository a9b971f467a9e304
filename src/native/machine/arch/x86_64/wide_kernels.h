// SPDX-License-Identifier: Apache-2.0
//
// The loops with wide vectors. Each set is compiled for its instructions, which the processor must
// have.
#pragma once

#include <vector>

#include "kernels.h"

namespace numascape::machine {

std::vector<Operation> avx2_operations();
std::vector<Operation> avx512_operations();

}  // namespace numascape::machine
