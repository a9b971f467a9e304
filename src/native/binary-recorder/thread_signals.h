// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace numascape {

// The signals of a thread, from /proc, as sets of bits (number - 1).
struct ThreadSignals {
    unsigned long pending = 0;  // of the thread or of its process
    unsigned long thread_pending = 0;
    unsigned long blocked = 0;
    unsigned long caught = 0;
};
bool read_signals(int process, int thread, ThreadSignals& signals);

// Whether a signal is pending for which the thread will enter a handler when it next continues.
bool signal_comes(int process, int thread);

}  // namespace numascape
