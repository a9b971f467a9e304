// SPDX-License-Identifier: Apache-2.0
// Main builds a tree in each step. New threads look bodies up in it, and others move them.
// label: nodes_ = shared, read-mostly | serial first touch | hot pages
// action: nodes_ = spread | copy | divide
// harm: nodes_ = local
// minor: bodies = pages change users | serial first touch
// action: bodies = divide | spread | local
// minor: acc = pages change users | serial first touch | cache-resident
// action: acc = divide | spread | local
// minor: next = true sharing of cache lines
// action: next = none
// minor: run = load imbalance
// Barnes-Hut gravity with an octree rebuilt every step.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <vector>

struct Vec3 {
    double x = 0, y = 0, z = 0;
};

struct Body {
    Vec3 pos, vel;
    double mass = 0;
};

struct Node {
    Vec3 centre, com;
    double half = 0, mass = 0;
    int child[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    int body = -1;
    int count = 0;
};

class Octree {
  public:
    void build(const std::vector<Body>& bodies) {
        nodes_.clear();
        nodes_.reserve(bodies.size() * 2);
        double r = 0;
        for (const Body& b : bodies)
            r = std::max({r, std::fabs(b.pos.x), std::fabs(b.pos.y), std::fabs(b.pos.z)});
        Node root;
        root.half = r * 1.0001;
        nodes_.push_back(root);
        for (size_t i = 0; i < bodies.size(); i++) insert(0, int(i), bodies, 0);
        summarize(0, bodies);
    }

    Vec3 force(const Vec3& p, double theta) const {
        Vec3 a;
        int stack[256], top = 0;
        stack[top++] = 0;
        while (top) {
            const Node& n = nodes_[stack[--top]];
            double dx = n.com.x - p.x, dy = n.com.y - p.y, dz = n.com.z - p.z;
            double d2 = dx * dx + dy * dy + dz * dz + 1e-6;
            if (n.count == 1 || 4 * n.half * n.half < theta * theta * d2) {
                double w = n.mass / (d2 * std::sqrt(d2));
                a.x += w * dx;
                a.y += w * dy;
                a.z += w * dz;
            } else {
                for (int c : n.child)
                    if (c >= 0) stack[top++] = c;
            }
        }
        return a;
    }

    size_t size() const { return nodes_.size(); }

  private:
    int octant(const Node& n, const Vec3& p) const {
        return (p.x > n.centre.x) | (p.y > n.centre.y) << 1 | (p.z > n.centre.z) << 2;
    }

    int descend(int i, int o) {
        if (nodes_[i].child[o] < 0) {
            Node c;
            double h = nodes_[i].half / 2;
            c.half = h;
            c.centre = {nodes_[i].centre.x + (o & 1 ? h : -h),
                        nodes_[i].centre.y + (o & 2 ? h : -h),
                        nodes_[i].centre.z + (o & 4 ? h : -h)};
            nodes_[i].child[o] = int(nodes_.size());
            nodes_.push_back(c);
        }
        return nodes_[i].child[o];
    }

    void insert(int i, int b, const std::vector<Body>& bodies, int depth) {
        while (true) {
            int n = nodes_[i].count++;
            if (n == 0 || depth > 40) {
                nodes_[i].body = b;
                return;
            }
            if (n == 1) {
                int old = nodes_[i].body;
                nodes_[i].body = -1;
                insert(descend(i, octant(nodes_[i], bodies[old].pos)), old, bodies, depth + 1);
            }
            i = descend(i, octant(nodes_[i], bodies[b].pos));
            depth++;
        }
    }

    void summarize(int i, const std::vector<Body>& bodies) {
        Vec3 com;
        double mass = 0;
        if (nodes_[i].count == 1) {
            const Body& b = bodies[nodes_[i].body];
            com = b.pos;
            mass = b.mass;
        } else {
            for (int c : nodes_[i].child) {
                if (c < 0) continue;
                summarize(c, bodies);
                com.x += nodes_[c].mass * nodes_[c].com.x;
                com.y += nodes_[c].mass * nodes_[c].com.y;
                com.z += nodes_[c].mass * nodes_[c].com.z;
                mass += nodes_[c].mass;
            }
            com = {com.x / mass, com.y / mass, com.z / mass};
        }
        nodes_[i].com = com;
        nodes_[i].mass = mass;
    }

    std::vector<Node> nodes_;
};

static void run_team(int n, const std::function<void(int)>& work) {
    std::vector<std::thread> team;
    for (int t = 0; t < n; t++) team.emplace_back(work, t);
    for (auto& t : team) t.join();
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    const size_t n = 40000;
    const int steps = 3;

    std::mt19937_64 gen(2024);
    std::normal_distribution<double> gauss;
    std::vector<Body> bodies(n);
    for (Body& b : bodies) {
        b.pos = {gauss(gen), gauss(gen), 0.3 * gauss(gen)};
        b.vel = {-0.4 * b.pos.y, 0.4 * b.pos.x, 0};
        b.mass = 1.0 / n;
    }

    Octree tree;
    std::vector<Vec3> acc(n);
    for (int s = 0; s < steps; s++) {
        tree.build(bodies);
        std::atomic<size_t> next{0};
        run_team(threads, [&](int) {
            const size_t chunk = 64;
            for (size_t i = next.fetch_add(chunk); i < n; i = next.fetch_add(chunk))
                for (size_t k = i; k < std::min(i + chunk, n); k++)
                    acc[k] = tree.force(bodies[k].pos, 0.8);
        });
        run_team(threads, [&](int t) {
            const double dt = 0.01;
            for (size_t k = n * t / threads; k < n * (t + 1) / threads; k++) {
                Body& b = bodies[k];
                b.vel = {b.vel.x + dt * acc[k].x, b.vel.y + dt * acc[k].y, b.vel.z + dt * acc[k].z};
                b.pos = {b.pos.x + dt * b.vel.x, b.pos.y + dt * b.vel.y, b.pos.z + dt * b.vel.z};
            }
        });
    }
    double sum = 0;
    for (const Body& b : bodies) sum += std::fabs(b.pos.x) + std::fabs(b.vel.y);
    std::printf("gravity: %zu nodes, checksum %.9f\n", tree.size(), sum / double(n));
}
