// SPDX-License-Identifier: Apache-2.0
#ifdef SINGLE_HEADER
#include <numascape.hpp>
#else
#include <numascape/algorithm.hpp>
#include <numascape/segmented_vector.hpp>
#endif

int main() {
    using namespace numascape;
    const segmented_vector<int> v{layout{block{3}}, 1000, 2};
    return reduce(v, 0, std::plus<>{}) == 2000 && v.verify().ok() ? 0 : 1;
}
