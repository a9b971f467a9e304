// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace numascape::symbols {

// The path of a symbol in Rust's newer scheme (RFC 2603, `_R...`) without hashes of crates and
// without generic arguments: `alloc::raw_vec::RawVecInner::finish_grow`. Empty if it is not one.
std::string rust_name(std::string_view symbol);

}  // namespace numascape::symbols
