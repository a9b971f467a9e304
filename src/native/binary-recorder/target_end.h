// SPDX-License-Identifier: Apache-2.0
//
// Finds out how a process that is not our child ended.
#pragma once

#include <optional>
#include <string>

namespace numascape {

// Its wait status, as its parent gets it from wait(2); nothing if it is unknown. Since Linux 6.15,
// the kernel always reports it. Older kernels report it only until the parent calls wait. `process`
// is its pidfd.
std::optional<int> wait_status(int process, int pid);

// Why the end of a recorded process counts as a failure, as one line; "" if it ended normally.
// `directory` contains its shards.
std::string why_died(int process, int pid, const std::string& directory);

}  // namespace numascape
