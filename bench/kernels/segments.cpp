// SPDX-License-Identifier: Apache-2.0
// Loops over arrays of doubles, each in several ways, in rounds in which all ways take turns.
//
//     segments ELEMENTS ROUNDS 4K|2M     the last is the page size of the segments
//
// prints a line of kernel, way, and nanoseconds of CPU time per element for each. With BOOST
// defined the segmented algorithms of Boost.Container run over the same iterators.
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "numascape/algorithm.hpp"
#include "numascape/numa_vector.hpp"
#include "numascape/segmented_vector.hpp"
#include "numascape/spans.hpp"

#ifdef BOOST
#include <boost/container/experimental/segmented_for_each.hpp>
#include <boost/container/experimental/segmented_transform.hpp>

#include "numascape/boost_iterators.hpp"
#endif

namespace {

constexpr std::size_t segments = 4;
constexpr double batch = 16 << 20;  // elements between two readings of the clock

using Segmented = numascape::segmented_vector<double>;

// The side of a square grid of this many elements.
std::size_t side(std::size_t n) {
    std::size_t result = 1;
    while (result * result < n) result *= 2;
    return result;
}

struct Arrays {
    Arrays(std::size_t n, numascape::page_size page)
        : row{side(n)},
          a(n, 1.0),
          b(n, 2.0),
          c(n, 3.0),
          where{numascape::layout{numascape::block{segments, row}}.pages(page)},
          x{where, n, 1.0},
          y{where, n, 2.0},
          z{where, n, 3.0},
          u{where, n, 1.0},
          w{where, n, 2.0} {}

    std::size_t row;
    std::vector<double> a, b, c;
    numascape::layout<numascape::block> where;
    Segmented x, y, z;
    numascape::numa_vector<double> u, w;
};

double sink = 0;

// Prevents the compiler from using what it knows about the arrays.
void touch() {
    asm volatile("" : : : "memory");
}

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Way {
    const char* kernel;
    const char* name;
    std::function<void(Arrays&)> run;
};

constexpr double scale = 0.4;
constexpr auto triad = [](double b, double c) { return b + scale * c; };
constexpr auto half = [](double x) { return 0.5 * x + 1; };
constexpr auto affine = [](double b) { return scale * b + 1; };

void stencil_row(double* out, const double* up, const double* mid, const double* down,
                 std::size_t n) {
    for (std::size_t j = 1; j + 1 < n; ++j)
        out[j] = mid[j] + scale * (up[j] + down[j] + mid[j - 1] + mid[j + 1] - 4 * mid[j]);
}

// Loops over the rows of each segment with plain pointers. It looks up only the row above the
// first one and the row below the last one.
void stencil_by_segments(Arrays& s) {
    const std::size_t n = s.row;
    const auto segments = s.y.segments();
    for (auto segment = segments.begin(); segment != segments.end(); ++segment) {
        const std::size_t begin = segment.index() / n;
        const std::size_t end = begin + (*segment).size() / n;
        double* out = s.x.segments()[static_cast<std::size_t>(segment - segments.begin())].data();
        const double* mid = segment.begin();
        for (std::size_t i = begin; i < end; ++i, mid += n, out += n) {
            if (i == 0 || i + 1 == n) continue;
            const double* up = i > begin ? mid - n : s.y.part((i - 1) * n, n).data();
            const double* down = i + 1 < end ? mid + n : s.y.part((i + 1) * n, n).data();
            stencil_row(out, up, mid, down, n);
        }
    }
}

#ifdef BOOST
// Boost's algorithm assigns its function, but a lambda with captures cannot be assigned.
struct Sum {
    double value = 0;
    void operator()(double x) { value += x; }
};
#endif

const std::vector<Way> ways{
    {"triad", "std::vector",
     [](Arrays& s) {
         for (std::size_t i = 0; i < s.a.size(); ++i) s.a[i] = s.b[i] + scale * s.c[i];
     }},
    {"triad", "hierarchical",
     [](Arrays& s) { numascape::transform(s.y, s.z.begin(), s.x.begin(), triad); }},
    {"triad", "naive ++",
     [](Arrays& s) {
         auto b = s.y.begin();
         auto c = s.z.begin();
         for (auto a = s.x.begin(); a != s.x.end(); ++a, ++b, ++c) *a = *b + scale * *c;
     }},
    {"sum", "std::vector",
     [](Arrays& s) {
         double sum = 0;
         for (const double x : s.b) sum += x;
         sink = sum;
     }},
    {"sum", "hierarchical", [](Arrays& s) { sink = numascape::reduce(s.y, 0.0, std::plus<>{}); }},
    {"sum", "naive ++",
     [](Arrays& s) {
         double sum = 0;
         for (const double x : s.y) sum += x;
         sink = sum;
     }},
    {"transform", "std::vector",
     [](Arrays& s) {
         for (std::size_t i = 0; i < s.a.size(); ++i) s.a[i] = scale * s.b[i] + 1;
     }},
    {"transform", "hierarchical",
     [](Arrays& s) { numascape::transform(s.y, s.x.begin(), affine); }},
    {"transform", "naive ++",
     [](Arrays& s) {
         auto b = s.y.begin();
         for (auto a = s.x.begin(); a != s.x.end(); ++a, ++b) *a = scale * *b + 1;
     }},
    {"in place", "std::vector",
     [](Arrays& s) {
         for (double& x : s.a) x = half(x);
     }},
    {"in place", "hierarchical", [](Arrays& s) { numascape::transform(s.x, s.x.begin(), half); }},
    {"in place", "naive ++",
     [](Arrays& s) {
         for (double& x : s.x) x = half(x);
     }},
    {"axpy", "std::vector",
     [](Arrays& s) {
         for (std::size_t i = 0; i < s.a.size(); ++i) s.a[i] = half(s.a[i]) + s.b[i];
     }},
    {"axpy", "hierarchical",
     [](Arrays& s) {
         numascape::transform(s.x, s.y.begin(), s.x.begin(),
                              [](double a, double b) { return half(a) + b; });
     }},
    {"index", "std::vector",
     [](Arrays& s) {
         for (std::size_t i = 0; i < s.a.size(); ++i) s.a[i] = half(s.b[i]);
     }},
    {"index", "v[i]",
     [](Arrays& s) {
         for (std::size_t i = 0; i < s.x.size(); ++i) s.x[i] = half(s.y[i]);
     }},
    {"index", "for_each_span",
     [](Arrays& s) {
         numascape::for_each_span(
             [](std::size_t, std::span<double> x, std::span<const double> y) {
                 for (std::size_t i = 0; i < x.size(); ++i) x[i] = half(y[i]);
             },
             s.x, std::as_const(s.y));
     }},
    {"index", "numa_vector v[i]",
     [](Arrays& s) {
         for (std::size_t i = 0; i < s.u.size(); ++i) s.u[i] = half(s.w[i]);
     }},
    {"standard", "std::vector",
     [](Arrays& s) { std::transform(s.b.begin(), s.b.end(), s.a.begin(), half); }},
    {"standard", "iterators",
     [](Arrays& s) { std::transform(s.y.begin(), s.y.end(), s.x.begin(), half); }},
    {"standard", "numa_vector",
     [](Arrays& s) { std::transform(s.w.begin(), s.w.end(), s.u.begin(), half); }},
    {"stencil", "std::vector",
     [](Arrays& s) {
         const std::size_t n = s.row;
         for (std::size_t i = 1; i + 1 < n; ++i)
             stencil_row(&s.a[i * n], &s.b[(i - 1) * n], &s.b[i * n], &s.b[(i + 1) * n], n);
     }},
    {"stencil", "hierarchical", stencil_by_segments},
    {"stencil", "naive ++",
     [](Arrays& s) {
         const auto n = static_cast<std::ptrdiff_t>(s.row);
         auto up = s.y.begin();
         auto mid = s.y.begin() + n;
         auto left = mid - 1;
         auto right = mid + 1;
         auto down = mid + n;
         auto out = s.x.begin() + n;
         for (; down != s.y.end(); ++up, ++left, ++mid, ++right, ++down, ++out)
             *out = *mid + scale * (*up + *down + *left + *right - 4 * *mid);
     }},
#ifdef BOOST
    {"transform", "Boost",
     [](Arrays& s) {
         boost::container::segmented_transform(s.y.begin(), s.y.end(), s.x.begin(), affine);
     }},
    {"sum", "Boost",
     [](Arrays& s) {
         const Sum sum = boost::container::segmented_for_each(s.y.begin(), s.y.end(), Sum{});
         sink = sum.value;
     }},
#endif
};

}  // namespace

int main(int count, char** arguments) {
    const std::size_t n = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1 << 14;
    const int rounds = count > 2 ? std::atoi(arguments[2]) : 5;
    const bool huge = count > 3 && arguments[3][0] == '2';
    Arrays arrays{n, huge ? numascape::page_size::mib2 : numascape::page_size::base};
    const int repetitions = std::max(1, static_cast<int>(batch / static_cast<double>(n)));
    for (int round = -1; round < rounds; ++round) {
        for (const Way& way : ways) {
            const double start = cpu_seconds();
            for (int i = 0; i < repetitions; ++i) {
                way.run(arrays);
                touch();
            }
            const double spent = cpu_seconds() - start;
            const double each = 1e9 * spent / static_cast<double>(n) / repetitions;
            if (round >= 0) std::printf("%s,%s,%.6f\n", way.kernel, way.name, each);
        }
    }
    return sink < 0 ? 1 : 0;
}
