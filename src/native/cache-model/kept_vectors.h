// SPDX-License-Identifier: Apache-2.0
//
// KeptVectors and KeptWideVectors keep the program's vector registers while code that uses them
// runs. Each processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/kept_vectors.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
