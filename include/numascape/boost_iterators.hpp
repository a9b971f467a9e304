// SPDX-License-Identifier: Apache-2.0
// Makes Boost.Container's experimental segmented algorithms (Boost 1.91 and newer) work with
// Numascape's iterators, and with all others for which numascape::segmented_iterator_traits is
// specialised. Include this header in addition to Boost's. It does not need Boost itself.
//
//     #include <numascape/boost_iterators.hpp>
//     #include <numascape/segmented_vector.hpp>
//     // #include <boost/container/experimental/segmented_find.hpp>
//
//     int main() {
//         using namespace numascape;
//         const segmented_vector<int> v{layout{block{4}}, 1000, 7};
//         // boost::container::segmented_find(v.begin(), v.end(), 7) == v.begin()
//         using traits = boost::container::segmented_iterator_traits<decltype(v.begin())>;
//         return traits::local(v.begin()) == &v[0] ? 0 : 1;
//     }
#pragma once

#include "numascape/segmented_iterator.hpp"

namespace boost::container {

// The traits of Boost; its algorithms select by the tag and do not use the iterator's members.
template <class Iterator>
struct segmented_iterator_traits;
struct segmented_iterator_tag;

template <class Iterator>
    requires numascape::segmented<Iterator>
struct segmented_iterator_traits<Iterator> : numascape::segmented_iterator_traits<Iterator> {
    using is_segmented_iterator = segmented_iterator_tag;
};

}  // namespace boost::container
