// SPDX-License-Identifier: Apache-2.0
//
// Holds the threads of another process, all but its main thread, while that is worked on.
#pragma once

#include <map>

namespace numascape {

class HeldThreads {
  public:
    // Stops every thread that `process` has but its main thread, which is stopped already, so that
    // none can be made meanwhile. False when one does not stop: it sleeps uninterruptibly.
    bool hold(int process);
    // They go on, with the signals that reached them meanwhile.
    void release();

  private:
    bool stop(int thread);

    std::map<int, int> signals_;  // by thread; 0 = none
};

}  // namespace numascape
