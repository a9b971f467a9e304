// SPDX-License-Identifier: Apache-2.0
// A static loop builds the lists of neighbours, a dynamic loop uses them, and a static loop moves
// the atoms.
// label: neigh = pages change users
// action: neigh = divide
// minor: count = pages change users
// action: count = divide
// label: pos = serial first touch
// action: pos = local | spread
// harm: pos = copy
// label: force = pages change users
// minor: force = false sharing of cache lines
// action: force = divide | local
// label: vel = serial first touch
// action: vel = local
// minor: head = shared, read-mostly | serial first touch
// action: head = none
// minor: next = shared, read-mostly | serial first touch
// action: next = none
// mdneigh - Lennard-Jones fluid with Verlet neighbour lists (full lists, one row per atom).
//   mdneigh [threads] [steps]
#include <omp.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct Vec3 {
    double x = 0, y = 0, z = 0;
};

constexpr int kSide = 36;  // atoms along an edge
constexpr int kAtoms = kSide * kSide * kSide;
constexpr int kMaxNeigh = 112;
constexpr double kSpacing = 1.0772;  // density 0.8
constexpr double kBox = kSide * kSpacing;
constexpr double kCut = 2.5, kSkin = 0.3;

class Simulation {
  public:
    Simulation()
        : pos(kAtoms),
          vel(kAtoms),
          force(kAtoms),
          count(new int[kAtoms]),
          neigh(new int[size_t(kAtoms) * kMaxNeigh]) {
        unsigned long s = 99;
        auto rnd = [&s] {
            s = s * 6364136223846793005UL + 1442695040888963407UL;
            return double(s >> 11) / 9007199254740992.0 - 0.5;
        };
        int i = 0;
        for (int z = 0; z < kSide; z++)
            for (int y = 0; y < kSide; y++)
                for (int x = 0; x < kSide; x++, i++) {
                    pos[i] = {(x + 0.5 + 0.1 * rnd()) * kSpacing,
                              (y + 0.5 + 0.1 * rnd()) * kSpacing,
                              (z + 0.5 + 0.1 * rnd()) * kSpacing};
                    vel[i] = {rnd(), rnd(), rnd()};
                }
    }

    void buildLists() {
        const int nc = int(kBox / (kCut + kSkin));
        const double inv = nc / kBox;
        auto cellOf = [&](const Vec3& p) {
            int cx = int(p.x * inv) % nc, cy = int(p.y * inv) % nc, cz = int(p.z * inv) % nc;
            return (cz * nc + cy) * nc + cx;
        };
        std::vector<int> head(nc * nc * nc, -1), next(kAtoms);
        for (int i = kAtoms - 1; i >= 0; i--) {
            int c = cellOf(pos[i]);
            next[i] = head[c];
            head[c] = i;
        }
        const double r2max = (kCut + kSkin) * (kCut + kSkin);

#pragma omp parallel for schedule(static)
        for (int i = 0; i < kAtoms; i++) {
            int *row = &neigh[size_t(i) * kMaxNeigh], n = 0;
            int c = cellOf(pos[i]), cx = c % nc, cy = c / nc % nc, cz = c / nc / nc;
            for (int dz = -1; dz <= 1; dz++)
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++) {
                        int k = ((cz + dz + nc) % nc * nc + (cy + dy + nc) % nc) * nc +
                                (cx + dx + nc) % nc;
                        for (int j = head[k]; j >= 0; j = next[j])
                            if (j != i && n < kMaxNeigh && dist2(pos[i], pos[j]) < r2max)
                                row[n++] = j;
                    }
            count[i] = n;
        }
    }

    double computeForces() {
        double energy = 0;
// rows differ in length, let the runtime balance them
#pragma omp parallel for schedule(dynamic, 32) reduction(+ : energy)
        for (int i = 0; i < kAtoms; i++) {
            const int* row = &neigh[size_t(i) * kMaxNeigh];
            const Vec3 p = pos[i];
            Vec3 f;
            for (int k = 0; k < count[i]; k++) {
                const Vec3& q = pos[row[k]];
                double dx = wrap(p.x - q.x), dy = wrap(p.y - q.y), dz = wrap(p.z - q.z);
                double r2 = dx * dx + dy * dy + dz * dz;
                if (r2 > kCut * kCut) continue;
                double i2 = 1 / r2, i6 = i2 * i2 * i2, g = 48 * i6 * (i6 - 0.5) * i2;
                f.x += g * dx;
                f.y += g * dy;
                f.z += g * dz;
                energy += 2 * i6 * (i6 - 1);
            }
            force[i] = f;
        }
        return energy;
    }

    double integrate(double dt) {
        double kinetic = 0;
#pragma omp parallel for schedule(static) reduction(+ : kinetic)
        for (int i = 0; i < kAtoms; i++) {
            vel[i].x += dt * force[i].x;
            vel[i].y += dt * force[i].y;
            vel[i].z += dt * force[i].z;
            pos[i].x = inBox(pos[i].x + dt * vel[i].x);
            pos[i].y = inBox(pos[i].y + dt * vel[i].y);
            pos[i].z = inBox(pos[i].z + dt * vel[i].z);
            kinetic += 0.5 * (vel[i].x * vel[i].x + vel[i].y * vel[i].y + vel[i].z * vel[i].z);
        }
        return kinetic;
    }

  private:
    static double wrap(double d) { return d > kBox / 2 ? d - kBox : d < -kBox / 2 ? d + kBox : d; }
    static double inBox(double x) { return x < 0 ? x + kBox : x >= kBox ? x - kBox : x; }
    static double dist2(const Vec3& a, const Vec3& b) {
        double dx = wrap(a.x - b.x), dy = wrap(a.y - b.y), dz = wrap(a.z - b.z);
        return dx * dx + dy * dy + dz * dz;
    }

    std::vector<Vec3> pos, vel, force;
    std::unique_ptr<int[]> count, neigh;
};

int main(int argc, char** argv) {
    omp_set_num_threads(argc > 1 ? std::atoi(argv[1]) : 4);
    const int steps = argc > 2 ? std::atoi(argv[2]) : 4;

    Simulation sim;
    sim.buildLists();
    double pot = 0, kin = 0;
    for (int s = 0; s < steps; s++) {
        pot = sim.computeForces();
        kin = sim.integrate(0.002);
    }
    std::printf("atoms %d steps %d potential %.6f kinetic %.6f\n", kAtoms, steps, pot / kAtoms,
                kin / kAtoms);
}
