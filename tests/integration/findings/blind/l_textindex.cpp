// SPDX-License-Identifier: Apache-2.0
// The main thread divides a text into tokens, in a vector that grows; in each round, new threads
// count their own parts of it.
// label: index.tokens_ = serial first touch
// action: index.tokens_ = local | spread
// harm: index.tokens_ = copy
// label: weight = cache-resident
// label: c = partitioned
// Builds term statistics for a text collection read through a file mapping.
// usage: l_textindex [threads] [collection size in MiB]
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

struct Occurrence {
    uint32_t term;
    uint32_t doc;
};

class MappedFile {
  public:
    explicit MappedFile(size_t bytes) : size_(bytes) {
        const char* dir = std::getenv("TMPDIR");
        std::string name = std::string(dir ? dir : "/tmp") + "/l_textindex_XXXXXX";
        int fd = mkstemp(name.data());
        if (fd < 0) {
            std::perror("mkstemp");
            std::exit(2);
        }
        unlink(name.c_str());
        write_text(fd);
        data_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0));
        close(fd);
        if (data_ == MAP_FAILED) {
            std::perror("mmap");
            std::exit(2);
        }
    }
    ~MappedFile() { munmap(data_, size_); }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::string_view text() const { return {data_, size_}; }

  private:
    void write_text(int fd) {
        FILE* f = fdopen(dup(fd), "w");
        uint64_t s = 0x1234567;
        size_t left = size_;
        while (left > 0) {
            s ^= s << 13;
            s ^= s >> 7;
            s ^= s << 17;
            uint32_t w = static_cast<uint32_t>((s & 0xffff) * (s >> 16 & 0xffff) >> 17);
            char word[16];
            int k = 0;
            for (uint32_t v = w + 7; v && k < 6; v /= 11)
                word[k++] = static_cast<char>('a' + v % 11);
            word[k++] = (s >> 40 & 127) == 0 ? '\n' : ' ';
            size_t take = static_cast<size_t>(k) < left ? static_cast<size_t>(k) : left;
            std::fwrite(word, 1, take, f);
            left -= take;
        }
        std::fclose(f);
    }
    size_t size_;
    char* data_ = nullptr;
};

class Index {
  public:
    void tokenize(std::string_view text) {
        const char *p = text.data(), *end = p + text.size();
        uint32_t doc = 0;
        while (p < end) {
            const char* q = p;
            while (q < end && *q != ' ' && *q != '\n') q++;
            if (q > p) {
                std::string_view w(p, static_cast<size_t>(q - p));
                auto it = terms_.try_emplace(w, static_cast<uint32_t>(terms_.size())).first;
                tokens_.push_back({it->second, doc});
            }
            if (q < end && *q == '\n') doc++;
            p = q + 1;
        }
        docs_ = doc + 1;
    }

    struct Counts {
        std::vector<uint32_t> df, tf;
    };

    Counts count(size_t lo, size_t hi) const {
        Counts c{std::vector<uint32_t>(terms_.size()), std::vector<uint32_t>(terms_.size())};
        std::vector<uint32_t> last(terms_.size(), UINT32_MAX);
        for (size_t i = lo; i < hi; i++) {
            const Occurrence& o = tokens_[i];
            c.tf[o.term]++;
            if (last[o.term] != o.doc) {
                last[o.term] = o.doc;
                c.df[o.term]++;
            }
        }
        return c;
    }

    uint64_t rank(size_t lo, size_t hi, const std::vector<uint32_t>& weight, int round) const {
        uint64_t h = 0, doc_score = 0;
        for (size_t i = lo; i < hi; i++) {
            const Occurrence& o = tokens_[i];
            doc_score += weight[o.term] ^ static_cast<uint32_t>(round);
            if (i + 1 == hi || tokens_[i + 1].doc != o.doc) {
                h += doc_score * (o.doc % 8191 + 1);
                doc_score = 0;
            }
        }
        return h;
    }

    std::vector<size_t> split(int parts) const {
        std::vector<size_t> cut{0};
        for (int t = 1; t < parts; t++) {
            size_t i = tokens_.size() * static_cast<size_t>(t) / static_cast<size_t>(parts);
            while (i < tokens_.size() && i > 0 && tokens_[i].doc == tokens_[i - 1].doc) i++;
            cut.push_back(i);
        }
        cut.push_back(tokens_.size());
        return cut;
    }

    size_t terms() const { return terms_.size(); }
    size_t tokens() const { return tokens_.size(); }
    uint32_t docs() const { return docs_; }

  private:
    std::vector<Occurrence> tokens_;
    std::unordered_map<std::string_view, uint32_t> terms_;
    uint32_t docs_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    int mib = argc > 2 ? std::atoi(argv[2]) : 72;
    if (threads < 1 || threads > 256 || mib < 1) {
        std::fprintf(stderr, "usage: %s [threads] [MiB]\n", argv[0]);
        return 1;
    }
    MappedFile file(static_cast<size_t>(mib) << 20);
    Index index;
    index.tokenize(file.text());
    const auto cut = index.split(threads);

    std::vector<std::future<Index::Counts>> jobs;
    for (int t = 0; t < threads; t++)
        jobs.push_back(
            std::async(std::launch::async, [&, t] { return index.count(cut[t], cut[t + 1]); }));
    std::vector<uint32_t> df(index.terms()), weight(index.terms());
    uint64_t occurrences = 0;
    for (auto& j : jobs) {
        Index::Counts c = j.get();
        for (size_t k = 0; k < df.size(); k++) {
            df[k] += c.df[k];
            occurrences += c.tf[k];
        }
    }
    for (size_t k = 0; k < df.size(); k++)
        weight[k] = static_cast<uint32_t>(100 * std::log2(1.0 + index.docs() / (1.0 + df[k])));

    uint64_t sum = 0;
    for (int round = 0; round < 24; round++) {
        std::vector<std::future<uint64_t>> scores;
        for (int t = 0; t < threads; t++)
            scores.push_back(std::async(std::launch::async, [&, t] {
                return index.rank(cut[t], cut[t + 1], weight, round);
            }));
        for (auto& s : scores) sum += s.get() * static_cast<uint64_t>(round + 1);
    }
    std::printf("docs %u terms %zu tokens %zu %s checksum %016llx\n", index.docs(), index.terms(),
                index.tokens(), occurrences == index.tokens() ? "ok" : "BAD",
                (unsigned long long)sum);
    return 0;
}
