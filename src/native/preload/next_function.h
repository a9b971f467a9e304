// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

namespace numascape {

// Looks up the function that this library replaces: the one that the program would call without
// it. Null if there is none.
template <typename Function>
void find_next(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace numascape
