// SPDX-License-Identifier: Apache-2.0
//
// The sender of a signal: the kernel, for example for the terminal's keys, or a process with
// kill(2). Python does not tell its handlers who the sender is.
#include <nanobind/nanobind.h>

#include <array>
#include <atomic>
#include <csignal>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

constexpr int kMax = NSIG;

using Handler = void (*)(int);
std::array<std::atomic<Handler>, kMax> handlers{};  // Python's handlers, which note_sender calls
std::array<std::atomic<bool>, kMax> by_process{};

void note_sender(int number, siginfo_t* info, void*) {
    by_process[static_cast<size_t>(number)].store(info->si_code <= 0);  // SI_USER and its like
    handlers[static_cast<size_t>(number)].load()(number);
}

size_t checked(int number) {
    if (number < 1 || number >= kMax) throw nb::value_error("there is no such signal");
    return static_cast<size_t>(number);
}

void note_senders(int number) {
    struct sigaction before{};
    if (sigaction(static_cast<int>(checked(number)), nullptr, &before) != 0 ||
        (before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler == SIG_DFL ||
        before.sa_handler == SIG_IGN) {
        throw nb::value_error("no Python function is set for the signal");
    }
    handlers[static_cast<size_t>(number)].store(before.sa_handler);
    struct sigaction noting = before;
    noting.sa_sigaction = note_sender;
    noting.sa_flags |= SA_SIGINFO;
    sigaction(number, &noting, nullptr);
}

}  // namespace

void bind_signals(nb::module_& module) {
    nb::module_ signals = module.def_submodule("signals", "Who sent a signal");
    signals.def("note_senders", &note_senders, "number"_a,
                "Note who sends this signal from now on. Call it after signal.signal() has set a "
                "Python function for the signal; another call of signal.signal() ends the notes. "
                "Raises ValueError if no function is set.");
    signals.def(
        "is_of_a_process", [](int number) { return by_process[checked(number)].load(); },
        "number"_a,
        "Whether a process sent the last noted signal of this number; if not, the kernel did.");
}
