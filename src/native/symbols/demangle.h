// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace numascape::symbols {

// The name of an ELF symbol in the source: C++ and Rust names are demangled, without parameters,
// return type and Rust's hash; gfortran's `__m_MOD_u` becomes `m::u`; symbol
// versions (`@@GLIBC_2.2.5`) and the compiler's suffixes (`.isra.0`, `.1234`) are removed.
std::string readable_name(const char* symbol);

// `name` of a demangled function without its return type, parameters and qualifiers:
// "double* make<double>(int) const" is "make<double>".
std::string_view without_signature(std::string_view demangled);

// Whether this is the name of a region of OpenMP that gcc made a function.
bool is_outlined_region(std::string_view name);

}  // namespace numascape::symbols
