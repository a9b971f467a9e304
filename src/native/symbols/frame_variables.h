// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdw.h>

#include <vector>

#include "symbols.h"

namespace numascape::symbols {

// The variables of at least a page in the frame of `function`, also of functions inlined into it,
// by address and without overlap.
std::vector<FrameVariable> frame_variables(Dwarf_Die& function);
// The array of variable size for which the code of this line makes room; none if it is not clear
// which one it is.
std::vector<FrameVariable> variables_made_at(Dwarf_Die& function, std::uint32_t line);

}  // namespace numascape::symbols
