// SPDX-License-Identifier: Apache-2.0
// The lists are built by a dynamic schedule and used by a static one; forces and list headers are
// constructed by main; the density is uneven.
// label: pos_ = partitioned
// label: vel_ = partitioned
// label: force_ = serial first touch
// action: force_ = local
// label: nbr_ = serial first touch
// action: nbr_ = local
// label: list = remote first touch
// action: list = local | divide
// harm: list = copy | spread
// label: run = load imbalance
// action: run = balance
// Soft-sphere molecular dynamics with Verlet neighbour lists built from cells.
//   usage: mdneigh [atoms per box edge] [threads]
#include <omp.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct Vec3 {
    double x, y, z;
};

class System {
  public:
    explicit System(int edge) : edge_(edge), n_(edge * edge * edge), force_(n_), nbr_(n_) {
        // atoms start on a lattice that is squeezed towards one end of the box
        pos_.reset(new Vec3[n_]);
        vel_.reset(new Vec3[n_]);
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n_; i++) {
            int ix = i / (edge_ * edge_), iy = i / edge_ % edge_, iz = i % edge_;
            uint32_t h = (uint32_t)i * 2654435761u;
            double u = (ix + 0.5) / edge_;
            pos_[i] = {edge_ * u * (0.55 + 0.45 * u) + 0.1 * unit(h), iy + 0.3 * unit(h * 7),
                       iz + 0.3 * unit(h * 13)};
            vel_[i] = {unit(h * 3), unit(h * 5), unit(h * 11)};
        }
    }

    void rebuild() {
        int nc = edge_ / 2;
        cells_ = nc < 1 ? 1 : nc;
        head_.assign(cells_ * cells_ * cells_, -1);
        next_.assign(n_, -1);
        for (int i = n_ - 1; i >= 0; i--) {
            int c = cell_of(pos_[i]);
            next_[i] = head_[c];
            head_[c] = i;
        }
#pragma omp parallel for schedule(dynamic, 32)
        for (int i = 0; i < n_; i++) {
            std::vector<int> list;
            int c = cell_of(pos_[i]), cz = c % cells_, cy = c / cells_ % cells_,
                cx = c / (cells_ * cells_);
            for (int dx = -1; dx <= 1; dx++)
                for (int dy = -1; dy <= 1; dy++)
                    for (int dz = -1; dz <= 1; dz++) {
                        int x = cx + dx, y = cy + dy, z = cz + dz;
                        if (x < 0 || y < 0 || z < 0 || x >= cells_ || y >= cells_ || z >= cells_)
                            continue;
                        for (int j = head_[(x * cells_ + y) * cells_ + z]; j >= 0; j = next_[j])
                            if (j != i && dist2(pos_[i], pos_[j]) < RLIST * RLIST)
                                list.push_back(j);
                    }
            nbr_[i] = std::move(list);
        }
    }

    double forces() {
        double e = 0;
#pragma omp parallel for schedule(static) reduction(+ : e)
        for (int i = 0; i < n_; i++) {
            Vec3 f{0, 0, 0};
            const Vec3 p = pos_[i];
            for (int j : nbr_[i]) {
                double dx = p.x - pos_[j].x, dy = p.y - pos_[j].y, dz = p.z - pos_[j].z;
                double d2 = dx * dx + dy * dy + dz * dz;
                if (d2 >= RCUT * RCUT) continue;
                double s = 1.0 - d2 / (RCUT * RCUT);
                e += 0.5 * s * s;
                f.x += s * dx;
                f.y += s * dy;
                f.z += s * dz;
            }
            force_[i] = f;
        }
        return e;
    }

    double move(double dt) {
        double ke = 0;
#pragma omp parallel for schedule(static) reduction(+ : ke)
        for (int i = 0; i < n_; i++) {
            Vec3 &v = vel_[i], &p = pos_[i];
            const Vec3& f = force_[i];
            v.x += dt * f.x;
            v.y += dt * f.y;
            v.z += dt * f.z;
            p.x += dt * v.x;
            p.y += dt * v.y;
            p.z += dt * v.z;
            ke += 0.5 * (v.x * v.x + v.y * v.y + v.z * v.z);
        }
        return ke;
    }

    int atoms() const { return n_; }
    long pairs() const {
        long s = 0;
        for (auto& l : nbr_) s += (long)l.size();
        return s / 2;
    }

  private:
    static constexpr double RCUT = 1.6, RLIST = 1.9;
    static double unit(uint32_t h) {
        h ^= h >> 15;
        h *= 0x2C1B3C6Du;
        h ^= h >> 13;
        return (double)h / 4294967296.0 - 0.5;
    }
    static double dist2(const Vec3& a, const Vec3& b) {
        double x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
        return x * x + y * y + z * z;
    }
    int clampc(double v) const {
        int c = (int)std::floor(v * cells_ / edge_);
        return c < 0 ? 0 : c >= cells_ ? cells_ - 1 : c;
    }
    int cell_of(const Vec3& p) const {
        return (clampc(p.x) * cells_ + clampc(p.y)) * cells_ + clampc(p.z);
    }

    int edge_, n_, cells_ = 1;
    std::unique_ptr<Vec3[]> pos_, vel_;
    std::vector<Vec3> force_;
    std::vector<std::vector<int>> nbr_;
    std::vector<int> head_, next_;
};

int main(int argc, char** argv) {
    int edge = argc > 1 ? atoi(argv[1]) : 44;
    int nt = argc > 2 ? atoi(argv[2]) : 4;
    omp_set_num_threads(nt);

    System s(edge);
    double pe = 0, ke = 0;
    for (int step = 0; step < 16; step++) {
        if (step % 8 == 0) s.rebuild();
        pe = s.forces();
        ke = s.move(0.01);
    }
    printf("checksum %.6f %.6f atoms %d pairs %ld\n", pe / s.atoms(), ke / s.atoms(), s.atoms(),
           s.pairs());
}
