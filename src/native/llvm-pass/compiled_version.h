// SPDX-License-Identifier: Apache-2.0
//
// The version of the contract in abi.h, for C++ and for the assembler. compiler/elf_notes.py has
// the same number.
#pragma once

#define NUMASCAPE_COMPILED_VERSION 3
