// SPDX-License-Identifier: Apache-2.0
//
// Partitioners number their parts arbitrarily, so their numbers of migrations have no meaning.
// Relabelling a mapping keeps the loads and the communication cost, and minimises migrations.
#pragma once

#include "problem.h"

namespace numascape::balance {

// Exchanges whole cores: cores of one node with equal speed and background, and nodes with equal
// cores whose exchange changes no NUMA factor. Loads, imbalance and communication cost do not
// change. The number of migrations never rises; it is the smallest that such exchanges give (two
// optimal assignments: of cores in nodes, and of nodes). Cores with fixed tasks are not exchanged.
Mapping relabel(const Problem& problem, const Mapping& mapping);

}  // namespace numascape::balance
