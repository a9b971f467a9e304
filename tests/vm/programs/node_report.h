// SPDX-License-Identifier: Apache-2.0
// Prints the nodes of pages and the CPUs of threads, as the kernel reports them.
#pragma once

#include <stddef.h>

// Prints "name: n n n ...", the nodes of the pages that the bytes lie on, as move_pages(2) reports;
// a negative number is its error.
void report_nodes(const char* name, const void* start, size_t bytes);

// Prints "name number: n", the CPU that the calling thread is on.
void report_cpu(const char* name, int number);
