// SPDX-License-Identifier: Apache-2.0
//
// SampledRegisters: the registers of a thread that the kernel copies into a sample
// (PERF_SAMPLE_REGS_USER). Each processor has a folder in arch/.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/sampled_registers.h"
#else
#error "the recorders support x86-64 only: see 'Another architecture' in ARCHITECTURE.md"
#endif
