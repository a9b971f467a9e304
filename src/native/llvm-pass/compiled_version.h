// SPDX-License-Identifier: Apache-2.0
//
// Of what abi.h describes; for C++ and the assembler. compiler/elf_notes.py has the same number.
#pragma once

#define NUMASCAPE_COMPILED_VERSION 3
