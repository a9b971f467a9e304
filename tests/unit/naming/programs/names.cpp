// SPDX-License-Identifier: Apache-2.0
//
// As names.c: "// BYTES: NAME" is what the block of that many bytes must be called.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

volatile double sink;

template <typename T>
[[gnu::noinline]] T* alloc_array(std::size_t bytes) {
    return static_cast<T*>(std::malloc(bytes));
}

template <typename T>
class Buffer {
  public:
    explicit Buffer(std::size_t count) : data_(new T[count]), count_(count) {}
    ~Buffer() { delete[] data_; }
    Buffer(const Buffer&) = delete;
    T& operator[](std::size_t i) { return data_[i]; }
    void grow(std::size_t count) {
        delete[] data_;
        data_ = new T[count];
        count_ = count;
    }

  private:
    T* data_;
    std::size_t count_;
};

namespace wave {

std::vector<char> pressure;

struct Grid {
    Grid(std::size_t n, char fill) : vx(n, fill), vy(n + 1, fill) {}
    void allocate(std::size_t n) {
        vz.resize(n);
        this->stress = std::make_unique<char[]>(n + 1);
    }
    std::vector<char> vx, vy, vz;
    std::unique_ptr<char[]> stress;
};

[[gnu::noinline]] std::vector<char> ramp(std::size_t n) {
    std::vector<char> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<char>(i);
    return values;
}

[[gnu::noinline]] void fill(std::vector<char>& target, std::size_t n) {
    target.assign(n, 'x');
}

[[gnu::noinline]] void reserve(char*& pointer, std::size_t n) {
    pointer = new char[n];
}

}  // namespace wave

[[gnu::noinline]] void containers() {
    const std::size_t n = 100001;
    std::vector<char> v(n);                                // 100001: v
    std::vector<char> braces = std::vector<char>(100002);  // 100002: braces
    std::vector<char> w{};
    w.resize(100003);                       // 100003: w
    std::vector<char> filled(100004, 'a');  // 100004: filled
    std::vector<std::vector<char>> rows(2);
    rows[1].reserve(100005);         // 100005: rows[1]
    rows.at(0).assign(100006, 'b');  // 100006: rows.at(0)
    wave::pressure.resize(100007);   // 100007: wave::pressure
    std::string text(100008, 'x');   // 100009: text
    std::map<std::string, std::vector<char>> fields;
    fields["rho"].resize(100010);  // 100010: fields["rho"]
    std::map<int, std::array<char, 100020>> nodes;
    ++nodes[3][1];                   // 100056: nodes
    nodes[n % 7].fill('c');          // 100056: nodes
    auto copy = v;                   // 100001: copy
    auto ramp = wave::ramp(100012);  // 100012: ramp
    wave::fill(w, 210000);           // 210000: w
    sink = v[1] + w[1] + filled[1] + copy[1] + ramp[1] + braces[2] + text[0];
}

[[gnu::noinline]] void pointers() {
    double* a = new double[12501];                                      // 100008: a
    std::unique_ptr<char[]> owner(new char[110002]);                    // 110002: owner
    auto made = std::make_unique<char[]>(110003);                       // 110003: made
    std::shared_ptr<char[]> shared = std::make_shared<char[]>(110000);  // 110047: shared
    owner.reset(new char[110005]);                                      // 110005: owner
    char* raw;
    wave::reserve(raw, 110006);                       // 110006: raw
    auto* typed = alloc_array<char>(110007);          // 110007: typed
    std::pair<char*, int> pair{new char[110011], 1};  // 110011: pair
    auto lambda = [](std::size_t bytes) { return new char[bytes]; };
    char* by_lambda = lambda(110012);                                        // 110012: by_lambda
    char* cast = reinterpret_cast<char*>(operator new(110013));              // 110013: cast
    if (char* checked = new (std::nothrow) char[110014]) sink = checked[0];  // 110014: checked
    std::vector<char*> list;
    list.push_back(new char[110015]);              // 110015: list
    char* table[2] = {nullptr, new char[110016]};  // 110016: table[1]
    sink = a[0] + owner[0] + made[0] + shared[0] + raw[0] + typed[0] + pair.first[0] +
           by_lambda[0] + cast[0] + list[0][0] + table[1][0];
}

struct Vector {
    char* values;
    std::vector<char> halo;
};
struct Data {
    Vector r, p;
};

[[gnu::noinline]] void initialize(Vector& v, std::size_t n) {
    v.values = new char[n];
    v.halo.resize(n + 1);
}

[[gnu::noinline]] void initialize_data(Data& data, std::size_t n) {
    initialize(data.r, n);
    initialize(data.p, n + 2);
    sink = data.p.values[0];
}

[[gnu::noinline]] void problem(Vector* b, Data* data) {
    if (b != nullptr) initialize(*b, 120030);  // 120030: right.values // 120031: right.halo
    initialize(data->r, 120032);               // 120032: data.r.values // 120033: data.r.halo
    sink = data->r.values[0];
}

[[gnu::noinline]] void members() {
    Vector x, right;
    Data data, second;
    initialize(x, 120020);            // 120020: x.values // 120021: x.halo
    initialize_data(second, 120022);  // 120022: second.r.values // 120023: second.r.halo
    // 120024: second.p.values // 120025: second.p.halo
    problem(&right, &data);
    sink = x.values[0] + second.p.values[0] + right.values[0] + data.r.values[0];
}

[[gnu::noinline]] void objects() {
    Buffer<char> matrix(120001);   // 120001: matrix.data_
    matrix.grow(120002);           // 120002: matrix.data_
    wave::Grid grid(120003, 'x');  // 120003: grid.vx // 120004: grid.vy
    grid.allocate(120005);         // 120005: grid.vz // 120006: grid.stress
    auto heap = std::make_unique<wave::Grid>(120007, 'y');  // 120007: heap->vx // 120008: heap->vy
    auto* plain = new wave::Grid(120009, 'z');  // 120009: plain->vx // 120010: plain->vy
    plain->allocate(120011);                    // 120011: plain->vz // 120012: plain->stress
    sink = matrix[1] + grid.vx[1] + heap->vx[1] + plain->vx[1];
}

int main() {
    containers();
    pointers();
    objects();
    members();
}
