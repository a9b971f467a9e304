// SPDX-License-Identifier: Apache-2.0
// Serial: main allocates, touches and uses everything.
// label: run = no NUMA problem
// action: run = none
// label: text = partitioned
// label: sa_ = partitioned
// label: rank_ = partitioned
// label: tmp_ = partitioned
// label: sa2_ = partitioned
// label: cnt_ = partitioned
// label: lcp = partitioned
// harm: text = spread
// harm: sa_ = spread
// harm: rank_ = spread
// harm: tmp_ = spread
// harm: sa2_ = spread
// harm: cnt_ = spread
// harm: lcp = spread
// Suffix array of a DNA-like text by prefix doubling with counting sort, then Kasai LCP.
//   usage: sufarr [length] [threads]     (threads: accepted for the driver script, not used yet)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

static std::string make_text(size_t n) {
    std::string s;
    s.reserve(n);
    uint64_t z = 88172645463325252ull;
    while (s.size() < n) {
        z ^= z << 13;
        z ^= z >> 7;
        z ^= z << 17;
        if ((z & 1023) == 0 && s.size() > 400) {  // now and then repeat an older piece
            size_t at = (z >> 12) % (s.size() - 200);
            size_t len = std::min<size_t>(40 + (z >> 50), n - s.size());
            len = std::min<size_t>(len, 200);
            s += s.substr(at, len);
        } else {
            s.push_back("ACGT"[z >> 62]);
        }
    }
    return s;
}

class SuffixArray {
  public:
    explicit SuffixArray(const std::string& t)
        : text_(t),
          n_((int)t.size()),
          sa_(n_),
          rank_(n_),
          tmp_(n_),
          sa2_(n_),
          cnt_(std::max(n_, 15625) + 2) {
        build();
    }
    const std::vector<int>& sa() const { return sa_; }
    const std::vector<int>& rank() const { return rank_; }
    int rounds() const { return rounds_; }

  private:
    void counting_pass(int classes) {
        std::fill(cnt_.begin(), cnt_.begin() + classes + 1, 0);
        for (int i = 0; i < n_; i++) cnt_[rank_[i] + 1]++;
        for (int c = 0; c < classes; c++) cnt_[c + 1] += cnt_[c];
        for (int k = 0; k < n_; k++) {
            int i = sa2_[k];
            sa_[cnt_[rank_[i]]++] = i;
        }
    }
    uint32_t kmer(int i, int k) const {
        uint32_t v = 0;
        for (int j = 0; j < k; j++) {
            int c = 0;
            if (i + j < n_)
                c = 1 + (text_[i + j] == 'C'   ? 1
                         : text_[i + j] == 'G' ? 2
                         : text_[i + j] == 'T' ? 3
                                               : 0);
            v = v * 5 + (uint32_t)c;
        }
        return v;
    }
    void build() {
        const int K = 6;  // 5^6 = 15625 first classes
        for (int i = 0; i < n_; i++) rank_[i] = (int)kmer(i, K);
        std::iota(sa2_.begin(), sa2_.end(), 0);
        counting_pass(15625);
        int classes = relabel(0);
        for (int h = K; classes < n_; h *= 2) {
            rounds_++;
            int w = 0;
            for (int i = std::max(0, n_ - h); i < n_; i++) sa2_[w++] = i;
            for (int k = 0; k < n_; k++)
                if (sa_[k] >= h) sa2_[w++] = sa_[k] - h;
            counting_pass(classes);
            classes = relabel(h);
        }
    }
    int relabel(int h) {
        int c = 0;
        tmp_[sa_[0]] = 0;
        for (int k = 1; k < n_; k++) {
            int a = sa_[k - 1], b = sa_[k];
            bool same = rank_[a] == rank_[b];
            if (same && h) {
                int ra = a + h < n_ ? rank_[a + h] : -1, rb = b + h < n_ ? rank_[b + h] : -1;
                same = ra == rb;
            }
            if (!same) c++;
            tmp_[b] = c;
        }
        rank_.swap(tmp_);
        return c + 1;
    }

    const std::string& text_;
    int n_, rounds_ = 0;
    std::vector<int> sa_, rank_, tmp_, sa2_, cnt_;
};

static std::vector<int> kasai(const std::string& s, const std::vector<int>& sa,
                              const std::vector<int>& rank) {
    int n = (int)s.size(), h = 0;
    std::vector<int> lcp(n);
    for (int i = 0; i < n; i++) {
        if (rank[i] == 0) {
            h = 0;
            continue;
        }
        int j = sa[rank[i] - 1];
        while (i + h < n && j + h < n && s[i + h] == s[j + h]) h++;
        lcp[rank[i]] = h;
        if (h) h--;
    }
    return lcp;
}

int main(int argc, char** argv) {
    size_t n = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1500000;
    int nt = argc > 2 ? atoi(argv[2]) : 4;
    std::string text = make_text(n);
    SuffixArray s(text);
    std::vector<int> lcp = kasai(text, s.sa(), s.rank());
    uint64_t cs = 0;
    for (size_t i = 0; i < n; i += 97) cs = cs * 31 + (uint64_t)s.sa()[i];
    printf("checksum %016llx maxlcp %d rounds %d threads %d\n", (unsigned long long)cs,
           *std::max_element(lcp.begin(), lcp.end()), s.rounds(), nt);
}
