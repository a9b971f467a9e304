// SPDX-License-Identifier: Apache-2.0
#include "python_frames.h"

#include <initializer_list>

#include "dynamic_symbols.h"
#include "glibc_thread.h"
#include "os.h"
#include "pages.h"

namespace numascape {
namespace {

// Finding the state of a thread takes some system calls for each thread of Python. Threads of
// libraries have no state. If a search finds none, this many further allocations of the thread do
// not search; `state` counts them down. No address is as low as this number.
constexpr uint64_t kSkipped = 31;
constexpr uint32_t kMaxInterpreters = 16;
constexpr uint32_t kMaxThreads = 256;
constexpr uint32_t kMaxFrames = 256;      // visited per stack; a recursion counts once
constexpr uint64_t kMaxCharacters = 512;  // of a name
constexpr uint64_t kMaxLines = 32 << 10;  // bytes of the table

template <typename T>
bool read(uint64_t at, T& value) {
    return os::read_memory(at, &value, sizeof value) == sizeof value;
}

uint64_t word_at(uint64_t at) {
    uint64_t word = 0;
    return read(at, word) ? word : 0;
}

// Reads words of memory that only the calling thread releases, so one check of a page is enough.
// A check is needed, because the thread may have released its Python state before this allocation.
class OwnWords {
  public:
    bool read(uint64_t at, uint64_t& word) {
        const uint64_t page = at / kPageBytes;
        if (at % sizeof word != 0) {
            return false;
        }
        if (page != pages_[0] && page != pages_[1]) {
            if (!os::is_readable(at)) {
                return false;
            }
            pages_[1] = pages_[0];
            pages_[0] = page;
        }
        word = *reinterpret_cast<const uint64_t*>(at);
        return true;
    }
    // 0 if there is no memory.
    uint64_t word(uint64_t at) {
        uint64_t found = 0;
        return read(at, found) ? found : 0;
    }

  private:
    static constexpr uint64_t kNone = ~uint64_t{0};
    uint64_t pages_[2] = {kNone, kNone};
};

// Reads words of other threads' states, which these may release at any time.
struct OthersWords {
    static uint64_t word(uint64_t at) { return word_at(at); }
};

// 0 if the version is not supported.
uint16_t version_of(uint64_t start, uint64_t end) {
    uint64_t version = 0;
    const uint64_t symbol = dynamic_symbol(start, end, "Py_Version");
    if (symbol != 0) {
        read(symbol, version);
        return static_cast<uint16_t>(version >> 16);
    }
    const bool is_310 = dynamic_symbol(start, end, "PyModule_AddObjectRef") != 0;
    return is_310 ? 0x30a : 0;
}

// From 3.13, CPython stores the offsets of these fields in _Py_DebugOffsets, at the start of
// _PyRuntime. The offsets differ between builds, because structures before the fields do.
bool read_offsets(uint64_t runtime, PythonLayout& layout) {
    struct Offsets {
        char cookie[8];
        uint64_t version;
        uint64_t free_threaded;
        uint64_t runtime_bytes;
        uint64_t finalizing;
        uint64_t interpreters;
        uint64_t interpreter_bytes;
        uint64_t id;
        uint64_t next_interpreter;
        uint64_t threads;
    } offsets{};
    if (!read(runtime, offsets) || __builtin_memcmp(offsets.cookie, "xdebugpy", 8) != 0 ||
        offsets.free_threaded != 0) {
        return false;
    }
    layout.interpreters = offsets.interpreters;
    layout.next_interpreter = offsets.next_interpreter;
    layout.threads = offsets.threads;
    return true;
}

}  // namespace

void PythonCode::copy(void* into) const {
    auto* to = static_cast<char*>(into);
    for (const PythonText& text : {file, function, lines}) {
        os::read_memory(text.address, to, text.bytes);
        to += text.bytes;
    }
}

void PythonFrames::add_module(uint64_t start, uint64_t end) {
    const uint64_t runtime = dynamic_symbol(start, end, "_PyRuntime");
    if (runtime == 0 || runtime_.load() != 0) {
        return;
    }
    const uint16_t version = version_of(start, end);
    for (const PythonLayout& layout : kPythonLayouts) {
        if (layout.version == version) {
            layout_ = layout;
            module_ = start;
            code_type_ = dynamic_symbol(start, end, "PyCode_Type");
            runtime_.store(runtime, std::memory_order_release);
        }
    }
}

void PythonFrames::remove_module(uint64_t start) {
    if (start == module_) {
        runtime_.store(0);
    }
}

// The words are those of the thread, if `state` is its own.
template <typename Words>
bool PythonFrames::is_of_thread(uint64_t state, uint32_t os_tid, Words& words) const {
    // Before 3.12, a forked process has its parent's number here.
    if (layout_.native_thread != 0 && words.word(state + layout_.native_thread) == os_tid) {
        return true;
    }
    uint32_t number = 0;
    const uint64_t thread = words.word(state + layout_.thread);
    return thread != 0 && read(thread + kThreadNumberInPthread, number) && number == os_tid;
}

uint64_t PythonFrames::find_state(uint32_t os_tid) const {
    OthersWords words;
    const uint64_t runtime = runtime_.load(std::memory_order_acquire);
    PythonLayout layout = layout_;
    if (layout.version >= 0x30d && !read_offsets(runtime, layout)) {
        return 0;
    }
    uint64_t interpreter = word_at(runtime + layout.interpreters);
    for (uint32_t i = 0; interpreter != 0 && i < kMaxInterpreters; ++i) {
        uint64_t state = word_at(interpreter + layout.threads);
        for (uint32_t t = 0; state != 0 && t < kMaxThreads; ++t) {
            if (is_of_thread(state, os_tid, words)) {
                return state;
            }
            state = word_at(state + layout.next_thread);
        }
        interpreter = word_at(interpreter + layout.next_interpreter);
    }
    return 0;
}

uint32_t PythonFrames::walk(uint32_t os_tid, uint64_t& state, uint32_t wanted,
                            PythonFrame (&found)[kMax]) const {
    if (!is_loaded()) {
        return 0;
    }
    if (state > 0 && state <= kSkipped) {
        --state;
        return 0;
    }
    OwnWords words;
    if (state == 0 || !is_of_thread(state, os_tid, words)) {
        const uint64_t found_state = find_state(os_tid);
        state = found_state == 0 ? kSkipped : found_state;
    }
    uint64_t at = state == kSkipped ? 0 : words.word(state + layout_.frame);
    if (at != 0 && layout_.frame_in_structure >= 0) {
        at = words.word(at + static_cast<uint64_t>(layout_.frame_in_structure));
    }
    uint32_t count = 0;
    for (uint32_t steps = 0; at != 0 && count < wanted && count < kMax && steps < kMaxFrames;
         ++steps) {
        uint64_t code = 0;
        uint64_t instruction = 0;
        uint64_t previous = 0;
        if (!words.read(at + layout_.code, code) || !words.read(at + layout_.previous, previous) ||
            !words.read(at + layout_.instruction, instruction)) {
            break;
        }
        const uint64_t offset = layout_.instructions == 0
                                    ? 2 * (instruction & 0xffffffff)
                                    : instruction - (code + layout_.instructions);
        const bool repeats =
            count > 0 && found[count - 1].code == code && found[count - 1].offset == offset;
        if (!repeats && code != 0) {
            found[count++] = {code, offset};
        }
        at = previous;
    }
    return count;
}

bool PythonFrames::read_text(uint64_t address, PythonText& found) const {
    uint32_t state = 0;
    const uint64_t characters = word_at(address + kPythonTextLength);
    if (address == 0 || !read(address + kPythonTextState, state)) {
        return false;
    }
    // The bits of the state: 0 and 1 interned, 2 to 4 width, 5 compact, 6 ASCII.
    const uint32_t width = state >> 2 & 7;
    const bool compact = (state >> 5 & 1) != 0;
    const bool ascii = (state >> 6 & 1) != 0;
    if (!compact || (width != 1 && width != 2 && width != 4)) {
        return false;
    }
    found.address = address + (ascii ? layout_.ascii_text : layout_.text);
    found.width = width;
    found.bytes =
        width * static_cast<uint32_t>(characters < kMaxCharacters ? characters : kMaxCharacters);
    return true;
}

bool PythonFrames::describe(uint64_t code, PythonCode& found) const {
    if (code_type_ != 0 && word_at(code + kPythonType) != code_type_) {
        return false;
    }
    found.version = layout_.version;
    const uint64_t lines = word_at(code + layout_.lines);
    const uint64_t bytes = word_at(lines + kPythonBytesLength);
    found.lines.address = lines + kPythonBytes;
    found.lines.bytes = static_cast<uint32_t>(bytes < kMaxLines ? bytes : kMaxLines);
    return lines != 0 && read(code + layout_.first_line, found.first_line) &&
           read_text(word_at(code + layout_.file), found.file) &&
           read_text(word_at(code + layout_.function), found.function);
}

}  // namespace numascape
