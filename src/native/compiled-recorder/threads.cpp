// SPDX-License-Identifier: Apache-2.0
//
// Threads are counted from before their first function until after their last destructor.
#include <cerrno>
#include <cstdlib>

#include <pthread.h>

#include "os.h"
#include "runtime.h"

namespace numascape {

thread_local ThreadState thread_state{};

namespace {

pthread_key_t end_key;
pthread_once_t end_key_once = PTHREAD_ONCE_INIT;
bool have_end_key = false;

MappingRange find_stack() {
    pthread_attr_t attributes;
    void* start = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return {0, 0};
    }
    pthread_attr_getstack(&attributes, &start, &bytes);
    pthread_attr_destroy(&attributes);
    return {reinterpret_cast<uint64_t>(start), reinterpret_cast<uint64_t>(start) + bytes};
}

void map_own_stack() {
    void* memory = os::map_sparse(NUMASCAPE_OWN_STACK_BYTES);
    if (!os::failed(memory)) {
        thread_state.own_stack_top = static_cast<char*>(memory) + NUMASCAPE_OWN_STACK_BYTES;
    }
}

void free_own_stack() {
    if (char* top = thread_state.own_stack_top) {
        thread_state.own_stack_top = nullptr;
        os::unmap(top - NUMASCAPE_OWN_STACK_BYTES, NUMASCAPE_OWN_STACK_BYTES);
    }
}

void end_thread() {
    ThreadRecorder* recorder = thread_state.recorder;
    if (recorder == nullptr || !shard.makes_calls()) {
        return;
    }
    const ReentrancyGuard inside;
    // A stack may be cached and used by the next thread, so its counts are written when its owner
    // ends.
    if (recorder->stack_end > recorder->stack_start) {
        shard.retire(*recorder, window_page(recorder->stack_start),
                     window_page(recorder->stack_end - 1) + 1, os::ticks());
    }
    char name[16];
    read_own_name(name);
    for (TableWord* word = recorder->table_words; word != nullptr; word = word->next) {
        word->table = nullptr;  // code that still counts uses the spare table
    }
    thread_state.recorder = nullptr;
    thread_state.ended = true;
    shard.end_thread(recorder, name);
    free_own_stack();
}

// Destructors of other keys may access memory, too, so ours runs in the last round.
void destroy(void* round) {
    const auto left = reinterpret_cast<uintptr_t>(round);
    if (left > 1) {
        pthread_setspecific(end_key, reinterpret_cast<void*>(left - 1));
    } else {
        end_thread();
    }
}

void make_end_key() {
    have_end_key = pthread_key_create(&end_key, destroy) == 0;
}

struct Start {
    void* (*function)(void*);
    void* argument;
};

void* run_thread(void* argument) {
    const Start start = *static_cast<Start*>(argument);
    {
        const ReentrancyGuard inside;
        std::free(argument);
        begin_thread();
    }
    return start.function(start.argument);
}

}  // namespace

void let_modules_ask_again() {
    while (TableWord* word = thread_state.waiting_words) {
        thread_state.waiting_words = word->next;
        word->table = nullptr;
        word->next = nullptr;
    }
}

ThreadRecorder* begin_thread() {
    if (thread_state.recorder != nullptr || thread_state.ended || !recording()) {
        return thread_state.recorder;
    }
    const ReentrancyGuard inside;
    const bool main_thread = os::thread_id() == os::process_id();
    const MappingRange stack = main_thread ? find_main_stack() : find_stack();
    thread_state.recorder = shard.start_thread(stack.start, stack.end);
    if (thread_state.recorder != nullptr) {
        shard.log_thread_pointer(*thread_state.recorder, os::thread_pointer());
        map_own_stack();
    }
    pthread_once(&end_key_once, make_end_key);
    if (have_end_key) {
        pthread_setspecific(end_key,
                            reinterpret_cast<void*>(uintptr_t{PTHREAD_DESTRUCTOR_ITERATIONS}));
    }
    let_modules_ask_again();
    return thread_state.recorder;
}

}  // namespace numascape

NUMASCAPE_EXPORTED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                      void* (*function)(void*), void* argument) {
    using Function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static Function real = nullptr;
    using namespace numascape;
    if (!recording()) {
        return next_of(real, "pthread_create")(thread, attributes, function, argument);
    }
    Start* start = nullptr;
    {
        const ReentrancyGuard inside;
        start = static_cast<Start*>(std::malloc(sizeof(Start)));
        if (start == nullptr) {
            return EAGAIN;
        }
        *start = {function, argument};
    }
    const int error = next_of(real, "pthread_create")(thread, attributes, run_thread, start);
    if (error != 0) {
        const ReentrancyGuard inside;
        std::free(start);
    }
    return error;
}
