// SPDX-License-Identifier: Apache-2.0
#include "demangle.h"

#include <gtest/gtest.h>

#include <string>

namespace numascape::symbols {
namespace {

TEST(Demangling, GivesNamesAsWrittenInTheirLanguage) {
    EXPECT_EQ(readable_name("main"), "main");
    EXPECT_EQ(readable_name("_ZN4wave4Grid8allocateEm"), "wave::Grid::allocate");
    EXPECT_EQ(readable_name("_Z11alloc_arrayIdEPT_m"), "alloc_array<double>");
    EXPECT_EQ(readable_name("_ZL5table"), "table");
    EXPECT_EQ(readable_name("_ZTV4Grid"), "vtable for Grid");
    EXPECT_EQ(readable_name("__grid_MOD_u"), "grid::u");
    EXPECT_EQ(readable_name("_ZN5alloc3vec12Vec$LT$T$GT$4push17h0123456789abcdefE"),
              "alloc::vec::Vec<T>::push");
    EXPECT_EQ(readable_name(
                  "_ZN40_$LT$T$u20$as$u20$spec..SpecFromElem$GT$9from_elem17h0123456789abcdefE"),
              "<T as spec::SpecFromElem>::from_elem");
    EXPECT_EQ(readable_name("_ZN1r6COUNTS17h0123456789abcdefE.0.llvm.12"), "r::COUNTS");
}

TEST(Demangling, ReadsRustsNewerScheme) {
    EXPECT_EQ(readable_name("_RNvMs5_NtCs44jY8KtKzz4_5alloc7raw_vecNtB5_11RawVecInner11finish_"
                            "growCs1_3lib"),
              "alloc::raw_vec::RawVecInner::finish_grow");
    EXPECT_EQ(readable_name("_RNvCs1234_7mycrate3foo.llvm.12"), "mycrate::foo");
    EXPECT_EQ(readable_name("_RNCNvCs1234_7mycrate4main0B3_"), "mycrate::main::{closure}");
    EXPECT_EQ(readable_name("_RINvC1a5spawnNCNCNvB2_1f00ECs1_1b"), "a::spawn");
    EXPECT_EQ(readable_name("_RINvNtC3std3mem8align_ofjdE"), "std::mem::align_of");
    EXPECT_EQ(readable_name("_RNvYNtC1a1TNtC1b5Trait4call"), "<a::T as b::Trait>::call");
    EXPECT_EQ(readable_name("_RNvXsa_C1aRShNtC1b5Trait4call"), "<&[u8] as b::Trait>::call");
    EXPECT_EQ(readable_name("_RNvXC1aTjDNtC1b1TEL_ENtC1b5Trait4call"),
              "<(usize, dyn b::T) as b::Trait>::call");
    EXPECT_EQ(readable_name("_RNvMC1aFAhj8_EuQNtB2_1S3run"), "_RNvMC1aFAhj8_EuQNtB2_1S3run");
    EXPECT_EQ(readable_name("_RNvMC1aFAhj8_EuE3run"), "_RNvMC1aFAhj8_EuE3run");
    EXPECT_EQ(readable_name("_RNvMC1aFAhj8_Eu3run"), "fn([u8])::run");
}

TEST(Demangling, LeavesDamagedRustNames) {
    for (const char* damaged : {"_R", "_RN", "_RNv", "_RNvB_1a", "_RC99a", "_RIC1aK",
                                "_RNvMC1aB9_1f", "_RNvC1a18446744073709551615f"}) {
        EXPECT_EQ(readable_name(damaged), damaged);
    }
    const std::string deep = "_R" + std::string(5000, 'I');
    EXPECT_EQ(readable_name(deep.c_str()), deep);
    // Each tuple contains the previous one twice.
    std::string grows = "_RMC1aTjjE";
    for (int i = 0; i < 60; ++i) grows = "_RMC1aT" + grows.substr(6) + "B6_E";
    EXPECT_FALSE(readable_name(grows.c_str()).empty());
}

TEST(Demangling, LeavesOutWhatTheToolchainAdds) {
    EXPECT_EQ(readable_name("environ@@GLIBC_2.2.5"), "environ");
    EXPECT_EQ(readable_name("table.3"), "table");
    EXPECT_EQ(readable_name("A.17.6"), "A.17");
    EXPECT_EQ(readable_name("solve.constprop.0.isra.0"), "solve");
    EXPECT_EQ(readable_name("solve.part.0.cold"), "solve");
    EXPECT_EQ(readable_name("hidden.llvm.4711"), "hidden");
    EXPECT_EQ(readable_name("equiv.0.1.2"), "equiv");
    EXPECT_EQ(readable_name("main._omp_fn.0"), "main._omp_fn.0");
    EXPECT_EQ(readable_name("_ZN4Grid4fillEi._omp_fn.1"), "Grid::fill._omp_fn.1");
    EXPECT_EQ(readable_name(".hidden"), ".hidden");
    EXPECT_EQ(readable_name(".omp_outlined."), ".omp_outlined.");
}

TEST(Demangling, LeavesDotsOfTheLanguage) {
    EXPECT_EQ(readable_name("main.table"), "main.table");
    EXPECT_EQ(readable_name("main.(*mesh).step"), "main.(*mesh).step");
    EXPECT_EQ(readable_name("internal/strconv.pow10Tab"), "internal/strconv.pow10Tab");
    EXPECT_EQ(readable_name("main.init.0"), "main.init");
    EXPECT_EQ(readable_name("solve.table.2"), "solve.table");
}

TEST(Demangling, LeavesOutReturnTypesAndParameters) {
    const auto plain = [](const char* name) { return std::string(without_signature(name)); };
    EXPECT_EQ(plain("double* make<double>(int, char (*)[3]) const"), "make<double>");
    EXPECT_EQ(plain("Grid::operator()(int)"), "Grid::operator()");
    EXPECT_EQ(plain("operator new(unsigned long)"), "operator new");
    EXPECT_EQ(plain("operator new[](unsigned long)"), "operator new[]");
    EXPECT_EQ(plain("std::ostream& operator<< <int>(std::ostream&, int)"), "operator<< <int>");
    EXPECT_EQ(plain("(anonymous namespace)::run(int)"), "(anonymous namespace)::run");
    EXPECT_EQ(plain("main::{lambda(int)#1}::operator()(int) const"),
              "main::{lambda(int)#1}::operator()");
    EXPECT_EQ(plain("f(int)::{lambda()#1}::operator()() const"),
              "f(int)::{lambda()#1}::operator()");
    EXPECT_EQ(plain("decltype(auto) get<0>(int)"), "get<0>");
    EXPECT_EQ(plain("Grid::operator double*() const"), "Grid::operator double*");
}

TEST(Demangling, LeavesHostileNamesAsTheyAre) {
    EXPECT_EQ(readable_name(nullptr), "");
    EXPECT_EQ(readable_name(""), "");
    EXPECT_EQ(readable_name("_Z"), "_Z");
    EXPECT_EQ(readable_name("_ZN4wave"), "_ZN4wave");
    EXPECT_EQ(readable_name("__MOD_"), "__MOD_");
    const std::string unbalanced = "f((((<<<<{{{{";
    EXPECT_EQ(without_signature(unbalanced), unbalanced);
    EXPECT_EQ(readable_name(std::string(1 << 20, 'a').c_str()).size(), 256U + 3);
}

}  // namespace
}  // namespace numascape::symbols
