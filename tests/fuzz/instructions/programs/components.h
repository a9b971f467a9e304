// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes a file with a line for each state component of xsave that the kernel has switched on:
// number, offset, bytes, and whether it is aligned where xsavec writes it.
void write_components(const char* path);
