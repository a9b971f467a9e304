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

TEST(Demangling, LeavesOutWhatTheToolchainAdds) {
    EXPECT_EQ(readable_name("environ@@GLIBC_2.2.5"), "environ");
    EXPECT_EQ(readable_name("table.3"), "table");
    EXPECT_EQ(readable_name("A.17.6"), "A.17");
    EXPECT_EQ(readable_name("solve.constprop.0.isra.0"), "solve");
    EXPECT_EQ(readable_name("main._omp_fn.0"), "main._omp_fn.0");
    EXPECT_EQ(readable_name("_ZN4Grid4fillEi._omp_fn.1"), "Grid::fill._omp_fn.1");
    EXPECT_EQ(readable_name(".hidden"), ".hidden");
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
