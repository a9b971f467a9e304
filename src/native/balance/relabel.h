// SPDX-License-Identifier: Apache-2.0
//
// Partitioners number their parts as they like, so their migrations say nothing. Relabelled, a
// mapping has the same loads and the same communication cost with the fewest migrations.
#pragma once

#include "problem.h"

namespace numascape::balance {

// Exchanges whole cores: those of one node with equal speed and background, and nodes whose
// exchange changes no NUMA factor and whose cores are alike. Loads, imbalance and communication
// cost stay what they are. Never more migrations than before; the fewest that such exchanges give
// (two optimal assignments, of cores in nodes and of nodes). Mappings with fixed tasks stay as they
// are on the cores that hold them.
Mapping relabel(const Problem& problem, const Mapping& mapping);

}  // namespace numascape::balance
