// SPDX-License-Identifier: Apache-2.0
//
// How the unwinder finds the object of an address: with a function that glibc has since 2.35.
#pragma once

struct dl_find_object;

namespace numascape::placer {

using FindObject = int (*)(void* address, struct dl_find_object* result);

// The C library's; null if it has none, or while the real functions are not known yet.
FindObject find_object_of_c_library();

}  // namespace numascape::placer
