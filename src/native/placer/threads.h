// SPDX-License-Identifier: Apache-2.0
//
// Threads: their numbers, and the CPUs on which they run. A thread in the plan stays on its CPUs:
// affinity requests of the program or its OpenMP runtime succeed but are ignored.
#pragma once

#include <cstddef>

#include <pthread.h>

#include "plan.h"

namespace numascape::placer {

// The main thread of a process that begins, or of the child of a fork.
void threads_begin(const Plan& plan);

// For the report: where each thread runs now.
void look_at_threads();

// Whether the plan says where the thread runs; 0 is the calling one.
bool is_held(int thread_id);
bool is_held(pthread_t handle);

// The CPUs that the run was given, as the kernel's answer of at most `bytes` bytes.
void tell_given_cpus(std::size_t bytes, void* mask);

}  // namespace numascape::placer
