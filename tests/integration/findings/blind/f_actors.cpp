// SPDX-License-Identifier: Apache-2.0
// An actor runtime: a thousand actors with 8 KiB of state each, whose messages go on to other
// actors. std::thread (main is one of four workers); one run queue, so any worker runs any actor.
// label: state = pages change users
// Why: each message may run its actor on another worker, so the actor's two pages go from thread to
// thread.
// action: state = divide|spread
// harm: state = copy
// label: run = one node serves all
// Why: main made all actors, so nearly all accesses of the other three workers go to its node.
// action: run = spread|divide
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kWorkers = 4;
constexpr std::uint32_t kActors = 1024;
constexpr std::size_t kWords = 1024;
constexpr std::uint32_t kTokens = 256;
constexpr std::uint32_t kHops = 100;

struct Message {
    std::uint32_t target;
    std::uint32_t hops;
    std::uint64_t token;
};

struct Actor {
    std::mutex busy;
    std::uint64_t* state = nullptr;
};

class Runtime {
  public:
    Runtime() : actors_(kActors) {
        for (std::uint32_t id = 0; id < kActors; id++) {
            std::uint64_t* state = new std::uint64_t[kWords];
            for (std::size_t i = 0; i < kWords; i++) state[i] = id + i;
            actors_[id].state = state;
        }
    }
    ~Runtime() {
        for (Actor& actor : actors_) delete[] actor.state;
    }
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    void send(Message message) {
        {
            std::lock_guard guard(lock_);
            queue_.push_back(message);
            open_++;
        }
        ready_.notify_one();
    }

    void work() {
        Message message;
        while (next(message)) {
            std::uint32_t target = receive(message);
            if (message.hops > 1) send({target, message.hops - 1, message.token});
            std::lock_guard guard(lock_);
            if (--open_ == 0) ready_.notify_all();
        }
    }

    std::uint64_t checksum() const {
        std::uint64_t sum = 0;
        for (const Actor& actor : actors_) {
            for (std::size_t i = 0; i < kWords; i++) sum += actor.state[i];
        }
        return sum;
    }

  private:
    bool next(Message& message) {
        std::unique_lock guard(lock_);
        ready_.wait(guard, [this] { return !queue_.empty() || open_ == 0; });
        if (queue_.empty()) return false;
        message = queue_.front();
        queue_.pop_front();
        return true;
    }

    // The actor adds the token to its whole state; the message alone says who is next.
    std::uint32_t receive(const Message& message) {
        Actor& actor = actors_[message.target];
        std::lock_guard guard(actor.busy);
        for (std::size_t i = 0; i < kWords; i++) actor.state[i] += message.token;
        std::uint64_t mixed = (message.token * 31 + message.hops) * 0x9e3779b97f4a7c15ull;
        return static_cast<std::uint32_t>((mixed >> 40) % kActors);
    }

    std::vector<Actor> actors_;
    std::mutex lock_;
    std::condition_variable ready_;
    std::deque<Message> queue_;
    std::uint64_t open_ = 0;
};

}  // namespace

int main() {
    Runtime runtime;
    const std::uint64_t before = runtime.checksum();
    std::uint64_t tokens = 0;
    for (std::uint32_t token = 1; token <= kTokens; token++) {
        runtime.send({token * 37 % kActors, kHops, token});
        tokens += token;
    }
    std::vector<std::thread> workers;
    for (int w = 1; w < kWorkers; w++) workers.emplace_back([&] { runtime.work(); });
    runtime.work();
    for (std::thread& worker : workers) worker.join();
    const std::uint64_t grown = runtime.checksum() - before;
    std::printf("grown by %llu\n", static_cast<unsigned long long>(grown));
    return grown == tokens * kHops * kWords ? 0 : 1;
}
