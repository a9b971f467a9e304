// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>

namespace numascape::balance {

// A limit on the wall time of a search, from the construction of this object. The result then
// depends on the machine, so the clock is not read without a limit.
class TimeLimit {
  public:
    explicit TimeLimit(double seconds = INFINITY) : seconds_(seconds) {
        if (limited()) start_ = Clock::now();
    }

    bool limited() const { return seconds_ < INFINITY; }
    // The share of the time that has passed: 0 without a limit, 1 and more when it is over.
    double used() const {
        if (!limited()) return 0.0;
        const std::chrono::duration<double> passed = Clock::now() - start_;
        return seconds_ > 0.0 ? passed.count() / seconds_ : 1.0;
    }
    bool over() const { return used() >= 1.0; }
    double left() const { return limited() ? std::fmax(0.0, seconds_ * (1.0 - used())) : INFINITY; }

  private:
    using Clock = std::chrono::steady_clock;

    double seconds_;
    Clock::time_point start_;
};

}  // namespace numascape::balance
