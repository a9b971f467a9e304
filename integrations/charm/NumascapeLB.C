// SPDX-License-Identifier: Apache-2.0
#include "NumascapeLB.h"

#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ckgraph.h"
#include "numascape/balance.h"

// Charm++ 6 registers strategies with a macro, 7 and 8 with a function.
#if defined(NUMASCAPE_CHARM_6)
CreateLBFunc_Def(NumascapeLB, "Numascape: NUMA-aware mapping of chares")
#else
static void lbinit() {
    LBRegisterBalancer<NumascapeLB>("NumascapeLB", "Numascape: NUMA-aware mapping of chares");
    LBTurnCommOn();
}
#endif

namespace {

const char* setting(const char* name, const char* otherwise) {
    const char* value = getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

double background_load(ProcInfo& processor) {
#if defined(NUMASCAPE_CHARM_6)
    return processor.overhead();
#else
    return processor.getOverhead();
#endif
}

// The machine's NUMA factors, as `numascape machine export --format csv` writes them: a line per
// node, with a heading of names and the name of each line's node. Without a file, there is one
// node.
struct Factors {
    std::vector<double> values;
    uint32_t nodes = 1;

    Factors() : values(1, 1.0) {
        const char* file = setting("NUMASCAPE_FACTORS", nullptr);
        if (file == nullptr) return;
        std::ifstream lines(file);
        std::vector<double> read;
        uint32_t rows = 0;
        for (std::string line; std::getline(lines, line);) {
            std::istringstream cells(line);
            std::string cell;
            std::vector<double> row;
            for (bool first = true; std::getline(cells, cell, ','); first = false) {
                if (!first) row.push_back(strtod(cell.c_str(), nullptr));
            }
            if (rows++ == 0 || row.empty()) continue;
            read.insert(read.end(), row.begin(), row.end());
        }
        const uint32_t size = rows > 0 ? rows - 1 : 0;
        if (size == 0 || read.size() != size_t(size) * size) {
            CkAbort("NumascapeLB: NUMASCAPE_FACTORS is no square matrix of NUMA factors\n");
        }
        values = read;
        nodes = size;
    }
};

}  // namespace

NumascapeLB::NumascapeLB(const CkLBOptions& options) : CBase_NumascapeLB(options) {
    lbname = "NumascapeLB";
}

NumascapeLB::NumascapeLB(CkMigrateMessage* message) : CBase_NumascapeLB(message) {
    lbname = "NumascapeLB";
}

void NumascapeLB::work(LDStats* stats) {
    ProcArray processors(stats);
    ObjGraph chares(stats);
    const uint32_t tasks = uint32_t(chares.vertices.size());
    const uint32_t cores = uint32_t(processors.procs.size());
    static const Factors factors;

    std::vector<double> load(tasks), background(cores), bytes, count;
    std::vector<uint32_t> core(tasks), to, core_node(cores), mapping(tasks);
    std::vector<uint8_t> fixed(tasks);
    std::vector<uint64_t> offsets(1, 0);
    for (uint32_t t = 0; t < tasks; ++t) {
        auto& chare = chares.vertices[t];
        load[t] = chare.getVertexLoad();
        core[t] = uint32_t(chare.getCurrentPe());
        fixed[t] = chare.isMigratable() ? 0 : 1;
        for (size_t e = 0; e < chare.sendToList.size(); ++e) {
            to.push_back(uint32_t(chare.sendToList[e].getNeighborId()));
            count.push_back(double(chare.sendToList[e].getNumMsgs()));
            bytes.push_back(double(chare.sendToList[e].getNumBytes()));
        }
        offsets.push_back(to.size());
    }
    for (uint32_t c = 0; c < cores; ++c) {
        background[c] = background_load(processors.procs[c]);
        // Each node has a block of consecutive PEs: +pemap must pin them in this order.
        core_node[c] = uint32_t(uint64_t(c) * factors.nodes / cores);
    }

    numascape_balance_problem problem = numascape_balance_problem();
    problem.tasks = tasks;
    problem.load = load.data();
    problem.core = core.data();
    problem.fixed = fixed.data();
    problem.message_offsets = offsets.data();
    problem.message_to = to.data();
    problem.message_bytes = bytes.data();
    problem.message_count = count.data();
    problem.cores = cores;
    problem.core_node = core_node.data();
    problem.background = background.data();
    problem.nodes = factors.nodes;
    problem.factor = factors.values.data();

    numascape_balance_options options;
    numascape_balance_defaults(&options);
    options.algorithm = setting("NUMASCAPE_BALANCER", options.algorithm);
    numascape_balance_metrics metrics;
    char error[256];
    if (numascape_balance(&problem, &options, mapping.data(), &metrics, error, sizeof error) != 0) {
        // If a balancer fails, no chare migrates.
        CkPrintf("NumascapeLB: %s; nothing migrates\n", error);
        return;
    }
    for (uint32_t t = 0; t < tasks; ++t) {
        if (mapping[t] != core[t]) chares.vertices[t].setNewPe(int(mapping[t]));
    }
    CkPrintf("NumascapeLB: %s: %u chares, %u PEs: imbalance %.3f, %llu migrations, %.3f ms\n",
             options.algorithm, tasks, cores, metrics.imbalance,
             (unsigned long long)metrics.migrations, 1000.0 * metrics.own_seconds);
    chares.convertDecisions(stats);
}

#include "NumascapeLB.def.h"
