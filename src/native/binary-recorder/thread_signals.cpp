// SPDX-License-Identifier: Apache-2.0
#include "thread_signals.h"

#include <fstream>
#include <string>

namespace numascape {

bool read_signals(int process, int thread, ThreadSignals& signals) {
    std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) +
                       "/status");
    bool found = false;
    for (std::string line; std::getline(file, line);) {
        const std::string name = line.substr(0, line.find(':'));
        const auto set = [&] { return std::stoul(line.substr(name.size() + 1), nullptr, 16); };
        if (name == "SigPnd") {
            signals.thread_pending = set();
            signals.pending |= signals.thread_pending;
        } else if (name == "ShdPnd") {
            signals.pending |= set();
        } else if (name == "SigBlk") {
            signals.blocked = set();
        } else if (name == "SigCgt") {
            signals.caught = set();
            found = true;
        }
    }
    return found;
}

bool signal_comes(int process, int thread) {
    ThreadSignals signals;
    return read_signals(process, thread, signals) &&
           (signals.pending & signals.caught & ~signals.blocked) != 0;
}

}  // namespace numascape
