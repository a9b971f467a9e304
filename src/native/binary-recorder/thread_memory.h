// SPDX-License-Identifier: Apache-2.0
//
// Pieces of memory of equal size, one per thread. Later threads reuse the pieces of ended threads.
// A piece is initially zero; a reused piece keeps its content.
#pragma once

#include <cstddef>

#include "os.h"
#include "spin_lock.h"

namespace numascape {

class ThreadMemory {
  public:
    constexpr explicit ThreadMemory(size_t bytes) : bytes_(bytes) {}

    // A failed mapping (os::failed) when there is no memory.
    void* take() {
        {
            SpinGuard guard(lock_);
            if (Piece* piece = idle_; piece != nullptr) {
                idle_ = piece->next;
                return piece;
            }
        }
        return os::map_sparse(bytes_);
    }

    // `own`: called on the thread that took it. Otherwise this must not wait for the lock:
    // DynamoRIO ends other threads after a fork, and when it leaves.
    void give_back(void* memory, bool own) {
        if (!own) {
            os::unmap(memory, bytes_);
            return;
        }
        SpinGuard guard(lock_);
        auto* piece = static_cast<Piece*>(memory);
        piece->next = idle_;
        idle_ = piece;
    }

    // Called in the child of a fork.
    void after_fork() { lock_.reset(); }

    void close() {
        while (idle_ != nullptr) {
            Piece* piece = idle_;
            idle_ = piece->next;
            os::unmap(piece, bytes_);
        }
    }

  private:
    struct Piece {
        Piece* next;
    };
    size_t bytes_;
    SpinLock lock_;
    Piece* idle_ = nullptr;
};

}  // namespace numascape
