// SPDX-License-Identifier: Apache-2.0
//
// Unwinds this program's own stack from a copy and compares with backtrace().
#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "symbols.h"

namespace numascape::symbols {
namespace {

struct Capture {
    Registers registers;
    std::uint64_t stack_address;
    std::vector<std::byte> stack;
    std::vector<std::uint64_t> expected;  // as the compiler's own unwinder finds it
};

int add_module(dl_phdr_info* info, std::size_t, void* modules) {
    std::uint64_t start = UINT64_MAX;
    std::uint64_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) & segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        start = std::min<std::uint64_t>(start, info->dlpi_addr + segment.p_vaddr);
        end = std::max<std::uint64_t>(end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
    const bool is_program = info->dlpi_name[0] == '\0';
    const std::string path = is_program ? "/proc/self/exe" : info->dlpi_name;
    static_cast<std::vector<Module>*>(modules)->push_back(
        {path, start & ~std::uint64_t{0xfff}, end, info->dlpi_addr});
    return 0;
}

std::vector<Module> own_modules() {
    std::vector<Module> modules;
    dl_iterate_phdr(add_module, &modules);
    return modules;
}

// Stores the registers at the entry of the function this is called from. Written in assembly, as
// a compiled function would change them first.
extern "C" void store_registers(std::uint64_t* registers);
asm(R"(
.text
.type store_registers, @function
store_registers:
    .cfi_startproc
    mov %rax, 0(%rdi)
    mov %rdx, 8(%rdi)
    mov %rcx, 16(%rdi)
    mov %rbx, 24(%rdi)
    mov %rsi, 32(%rdi)
    mov %rdi, 40(%rdi)
    mov %rbp, 48(%rdi)
    lea 8(%rsp), %rax
    mov %rax, 56(%rdi)
    mov %r8, 64(%rdi)
    mov %r9, 72(%rdi)
    mov %r10, 80(%rdi)
    mov %r11, 88(%rdi)
    mov %r12, 96(%rdi)
    mov %r13, 104(%rdi)
    mov %r14, 112(%rdi)
    mov %r15, 120(%rdi)
    mov (%rsp), %rax
    mov %rax, 128(%rdi)
    ret
    .cfi_endproc
.size store_registers, .-store_registers
)");

// A function without call frame information, like those of musl's C library.
extern "C" void undescribed();
asm(R"(
.text
.type undescribed, @function
undescribed:
    nop
    ret
.size undescribed, .-undescribed
)");

volatile int sink = 0;

[[gnu::noinline]] void capture(Capture& captured) {
    store_registers(captured.registers.data());
    constexpr std::size_t kStackPointer = 7;
    captured.stack_address = captured.registers[kStackPointer];
    void* pcs[64];
    const int count = backtrace(pcs, 64);
    for (int i = 0; i < count; ++i) {
        captured.expected.push_back(reinterpret_cast<std::uint64_t>(pcs[i]));
    }
    pthread_attr_t attributes;
    void* base = nullptr;
    std::size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &base, &size);
    pthread_attr_destroy(&attributes);
    const std::uint64_t top = reinterpret_cast<std::uint64_t>(base) + size;
    captured.stack.resize(top - captured.stack_address);
    std::memcpy(captured.stack.data(), reinterpret_cast<const void*>(captured.stack_address),
                captured.stack.size());
}

// Frames of different shapes: few and many saved registers, a large array, a size known at run
// time (which needs a frame pointer), recursion.
[[gnu::noinline]] void small_frame(Capture& captured) {
    capture(captured);
    sink = sink + 1;
}

[[gnu::noinline]] void large_frame(Capture& captured) {
    volatile char array[20000];
    array[0] = 1;
    small_frame(captured);
    sink = sink + array[0];
}

[[gnu::noinline]] void run_time_frame(Capture& captured, int n) {
    auto* array = static_cast<volatile int*>(__builtin_alloca(static_cast<std::size_t>(n) * 64));
    array[0] = n;
    large_frame(captured);
    sink = sink + array[0];
}

[[gnu::noinline]] int recursive(Capture& captured, int depth, int a, int b, int c) {
    if (depth == 0) {
        run_time_frame(captured, a + 3);
        return a;
    }
    const int inner = recursive(captured, depth - 1, b, c + 1, a);
    sink = sink + a + b * c;
    return inner + a * b;
}

Capture captured_stack() {
    Capture captured{};
    sink = recursive(captured, 5, 1, 2, 3);
    return captured;
}

TEST(Unwinding, FindsWhatTheCompilersUnwinderFinds) {
    const Capture captured = captured_stack();
    Symbols symbols(own_modules());
    const std::vector<std::uint64_t> pcs =
        symbols.unwind(captured.registers, captured.stack_address, captured.stack);
    // The first address is in capture() in both, at two different calls.
    ASSERT_EQ(pcs.size(), captured.expected.size());
    EXPECT_EQ(pcs.front(), captured.registers.back());
    EXPECT_EQ(std::vector(pcs.begin() + 1, pcs.end()),
              std::vector(captured.expected.begin() + 1, captured.expected.end()));
}

TEST(Unwinding, GivesTheFunctionsOfTheCallStack) {
    const Capture captured = captured_stack();
    Symbols symbols(own_modules());
    std::vector<std::string> functions;
    for (std::uint64_t pc :
         symbols.unwind(captured.registers, captured.stack_address, captured.stack)) {
        functions.push_back(symbols.frames(pc - 1).back().function);
    }
    const std::string scope = "numascape::symbols::(anonymous namespace)::";
    ASSERT_GT(functions.size(), 10U);
    EXPECT_EQ(functions[0], scope + "capture");
    EXPECT_EQ(functions[1], scope + "small_frame");
    EXPECT_EQ(functions[2], scope + "large_frame");
    EXPECT_EQ(functions[3], scope + "run_time_frame");
    for (int i = 4; i < 10; ++i) EXPECT_EQ(functions[i], scope + "recursive");
    EXPECT_EQ(functions[functions.size() - 1], "_start");
}

TEST(Unwinding, FindsTheCallerOfAFunctionWithoutCallFrameInformation) {
    const Capture captured = captured_stack();
    Symbols symbols(own_modules());
    const std::vector<std::uint64_t> callers =
        symbols.unwind(captured.registers, captured.stack_address, captured.stack);
    constexpr std::size_t kStackPointer = 7;
    Registers registers = captured.registers;
    const std::uint64_t return_address = registers.back();
    registers.back() = reinterpret_cast<std::uint64_t>(undescribed);
    registers[kStackPointer] -= sizeof return_address;
    std::vector<std::byte> stack(sizeof return_address);
    std::memcpy(stack.data(), &return_address, sizeof return_address);
    stack.insert(stack.end(), captured.stack.begin(), captured.stack.end());
    const std::vector<std::uint64_t> pcs =
        symbols.unwind(registers, registers[kStackPointer], stack);
    ASSERT_EQ(pcs.size(), callers.size() + 1);
    EXPECT_EQ(pcs.front(), registers.back());
    EXPECT_TRUE(std::equal(callers.begin(), callers.end(), pcs.begin() + 1));
    EXPECT_EQ(symbols.unwind(registers, registers[kStackPointer], stack, 2).size(), 2U);
}

TEST(Unwinding, StopsAtTheLimit) {
    const Capture captured = captured_stack();
    Symbols symbols(own_modules());
    EXPECT_EQ(symbols.unwind(captured.registers, captured.stack_address, captured.stack, 4).size(),
              4U);
    EXPECT_TRUE(
        symbols.unwind(captured.registers, captured.stack_address, captured.stack, 0).empty());
}

TEST(Unwinding, GivesWhatACopyCutShortHolds) {
    const Capture captured = captured_stack();
    Symbols symbols(own_modules());
    const auto whole = symbols.unwind(captured.registers, captured.stack_address, captured.stack);
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{7}, std::size_t{4096}, std::size_t{20500}}) {
        const auto pcs = symbols.unwind(captured.registers, captured.stack_address,
                                        std::span(captured.stack).first(length));
        ASSERT_GE(pcs.size(), 1U);
        ASSERT_LT(pcs.size(), whole.size());
        EXPECT_TRUE(std::equal(pcs.begin(), pcs.end(), whole.begin()));
    }
}

TEST(Unwinding, SurvivesRegistersOfAnyValue) {
    Symbols symbols(own_modules());
    const std::vector<std::byte> stack(4096, std::byte{0xff});
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{0x1000}, UINT64_MAX}) {
        Registers registers;
        registers.fill(value);
        EXPECT_EQ(symbols.unwind(registers, value, stack).size(), 1U);
    }
}

TEST(Unwinding, GivesTheFirstAddressWithoutModules) {
    const Capture captured = captured_stack();
    Symbols symbols({});
    EXPECT_EQ(symbols.unwind(captured.registers, captured.stack_address, captured.stack),
              std::vector<std::uint64_t>{captured.registers.back()});
}

}  // namespace
}  // namespace numascape::symbols
