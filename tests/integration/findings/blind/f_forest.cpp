// SPDX-License-Identifier: Apache-2.0
// Inference with a random forest: 48 trees of depth 11 vote on 16384 samples of 64 features.
// OpenMP, four threads, static division of the samples; main reads the model.
// label: nodes = shared, read-mostly
// Why: every thread walks all trees for its samples, and the model does not change once main has
// read it.
// action: nodes = copy|spread
// label: run = one node serves all
// Why: most accesses are to the nodes of the trees, and main has put all of these on its own node.
// action: run = copy|spread
// label: roots = cache-resident
// Why: 48 numbers that all threads only read.
// label: features = partitioned
// Why: the loop that makes the samples has the same static division as the inference.
#include <omp.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

constexpr int kTrees = 48;
constexpr int kDepth = 11;
constexpr int kFeatures = 64;
constexpr int kSamples = 16384;

struct TreeNode {
    std::int32_t feature;  // negative in a leaf
    float threshold;       // the vote, in a leaf
    std::int32_t left, right;
};

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
    std::uint32_t next() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::uint32_t>(state_ >> 33);
    }
    float uniform() { return static_cast<float>(next() & 0xffff) / 65536.0f; }

  private:
    std::uint64_t state_;
};

class Forest {
  public:
    static Forest read_model() {
        Forest forest;
        forest.nodes.reserve(static_cast<std::size_t>(kTrees) << (kDepth + 1));
        Random random(42);
        for (int tree = 0; tree < kTrees; tree++) {
            forest.roots.push_back(forest.grow(random, kDepth));
        }
        return forest;
    }

    float predict(const float* sample) const {
        float votes = 0;
        for (std::int32_t at : roots) {
            while (nodes[at].feature >= 0) {
                const TreeNode& node = nodes[at];
                at = sample[node.feature] < node.threshold ? node.left : node.right;
            }
            votes += nodes[at].threshold;
        }
        return votes / kTrees;
    }

  private:
    std::int32_t grow(Random& random, int depth) {
        const auto at = static_cast<std::int32_t>(nodes.size());
        nodes.push_back({-1, random.uniform(), 0, 0});
        if (depth > 0) {
            nodes[at].feature = static_cast<std::int32_t>(random.next() % kFeatures);
            nodes[at].threshold = 0.3f + 0.4f * random.uniform();
            const std::int32_t left = grow(random, depth - 1);
            const std::int32_t right = grow(random, depth - 1);
            nodes[at].left = left;
            nodes[at].right = right;
        }
        return at;
    }

    std::vector<TreeNode> nodes;
    std::vector<std::int32_t> roots;
};

}  // namespace

int main() {
    omp_set_num_threads(4);
    const Forest forest = Forest::read_model();
    const std::size_t size = static_cast<std::size_t>(kSamples) * kFeatures;
    std::unique_ptr<float[]> features = std::make_unique_for_overwrite<float[]>(size);
    std::unique_ptr<float[]> scores = std::make_unique_for_overwrite<float[]>(kSamples);

#pragma omp parallel for schedule(static)
    for (int i = 0; i < kSamples; i++) {
        Random random(static_cast<std::uint64_t>(i) + 1000);
        for (int f = 0; f < kFeatures; f++) features[i * kFeatures + f] = random.uniform();
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < kSamples; i++) scores[i] = forest.predict(&features[i * kFeatures]);

    double sum = 0;
    for (int i = 0; i < kSamples; i++) sum += scores[i];
    double again = 0, first = 0;
    for (int i = 0; i < kSamples; i += 1024) {
        again += forest.predict(&features[i * kFeatures]);
        first += scores[i];
    }
    std::printf("mean score %.6f\n", sum / kSamples);
    return again == first && std::fabs(sum / kSamples - 0.5) < 0.1 ? 0 : 1;
}
