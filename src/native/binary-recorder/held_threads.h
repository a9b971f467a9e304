// SPDX-License-Identifier: Apache-2.0
//
// Holds all threads of another process except its main thread, while the launcher works on the main
// thread. Each thread is held until DynamoRIO has sent it the signal with which it takes over the
// thread (SIGILL). A held thread executes nothing, and is not in a system call.
//
// A thread may block this signal, or the signals by which DynamoRIO reads memory that may not
// exist. They are unblocked while the thread is held. A file tells DynamoRIO which signals the
// thread had blocked, and which signals end the system call in which it waited.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "interrupted_call.h"

namespace numascape {

class HeldThreads {
  public:
    // Stops the threads of `process` that have no child processes, except its main thread, which
    // runs. When a child of a traced thread ends, the kernel wakes any thread of the process that
    // is not stopped, and some system calls then end with EINTR, although the process ignores
    // SIGCHLD. So the threads that have children are traced last. False if a thread does not stop,
    // because it sleeps uninterruptibly.
    bool hold_childless(int process);
    // Stops all other threads. The main thread is already stopped, so no thread can be created in
    // the meantime. False as above.
    bool hold(int process);
    // The error of the kernel if a thread could not be traced, else 0.
    int error() const { return error_; }
    // Unblocks the signals, and writes the file, also about the call of the main thread. False when
    // it cannot be written.
    bool unblock(const std::string& file, CallEnds main_ends);
    // Collects threads that were killed. Until then, the kernel does not report the end of the
    // process.
    void collect_ended();
    // Waits until each thread has the signal, or has ended.
    void wait_for_signals();
    // The threads continue, with the signals that arrived in the meantime. If DynamoRIO has not
    // taken them over, their blocked signals are restored.
    void release(bool taken_over);

  private:
    struct Held {
        int signal = 0;  // the signal that reached it; 0 = none
        uint64_t blocked = 0;
        bool changed = false;  // whether we changed what it blocks
        CallEnds ends = CallEnds::kNever;
    };
    bool stop(int thread);
    bool hold_new(bool childless, bool& found);

    int process_ = 0;
    int error_ = 0;
    std::set<int> seen_;
    std::map<int, Held> threads_;
};

}  // namespace numascape
