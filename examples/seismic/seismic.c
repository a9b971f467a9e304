// SPDX-License-Identifier: Apache-2.0
// An elastic wave in a cube, with OpenMP: velocities and stresses on a staggered grid, fourth order
// in space, second in time (the scheme of Virieux, Geophysics 51, 1986, with Levander's operators,
// Geophysics 53, 1988). An explosion in the middle sends out a pressure wave.
//
// Fields lie plane after plane; the compute loops give the threads equal slabs of planes. Who
// *initialises* the fields decides on which node their pages lie:
//
//   serial    main() initialises all fields: thread 0 touches every page first
//   parallel  the initialisation uses the compute loops' schedule: each thread touches its slab
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../options.h"

enum { HALO = 2, MAX_SIZE = 2048, MAX_STEPS = 1000000, MAX_THREADS = 4096 };

static const double GRID_STEP = 10.0;       // m
static const double TIME_STEP = 0.001;      // s; stable up to 4900 m/s on this grid
static const double P_WAVE_SPEED = 4000.0;  // m/s
static const double S_WAVE_SPEED = 2300.0;  // m/s
static const double DENSITY = 2000.0;       // kg/m^3
static const double PEAK_FREQUENCY = 30.0;  // Hz, of the source

struct wave {
    size_t size;              // cells per side
    size_t row;               // cells from one row to the next, with the halo
    size_t plane;             // cells from one plane to the next, with the halo
    size_t cells;             // of one field, with the halo
    double *vx, *vy, *vz;     // velocity, at the cells' faces, m/s
    double *sxx, *syy, *szz;  // normal stress, at the cells' centres, Pa
    double *sxy, *sxz, *syz;  // shear stress, at the cells' edges, Pa
    double *lambda, *mu;      // elastic moduli, Pa
    double* buoyancy;         // 1 / density, m^3/kg
};

static void allocate_fields(struct wave* w, size_t size) {
    w->size = size;
    w->row = size + 2 * HALO;
    w->plane = w->row * w->row;
    w->cells = w->row * w->plane;
    size_t bytes = w->cells * sizeof(double);
    w->vx = malloc(bytes);
    w->vy = malloc(bytes);
    w->vz = malloc(bytes);
    w->sxx = malloc(bytes);
    w->syy = malloc(bytes);
    w->szz = malloc(bytes);
    w->sxy = malloc(bytes);
    w->sxz = malloc(bytes);
    w->syz = malloc(bytes);
    w->lambda = malloc(bytes);
    w->mu = malloc(bytes);
    w->buoyancy = malloc(bytes);
    if (!w->vx || !w->vy || !w->vz || !w->sxx || !w->syy || !w->szz || !w->sxy || !w->sxz ||
        !w->syz || !w->lambda || !w->mu || !w->buoyancy)
        out_of_memory(12 * bytes);
}

static void free_fields(struct wave* w) {
    double* fields[] = {w->vx,  w->vy,  w->vz,  w->sxx,    w->syy, w->szz,
                        w->sxy, w->sxz, w->syz, w->lambda, w->mu,  w->buoyancy};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) free(fields[f]);
}

static void initialise_cells(struct wave* w, size_t first, size_t end) {
    for (size_t c = first; c < end; c++) {
        w->vx[c] = w->vy[c] = w->vz[c] = 0.0;
        w->sxx[c] = w->syy[c] = w->szz[c] = 0.0;
        w->sxy[c] = w->sxz[c] = w->syz[c] = 0.0;
        w->mu[c] = DENSITY * S_WAVE_SPEED * S_WAVE_SPEED;
        w->lambda[c] = DENSITY * P_WAVE_SPEED * P_WAVE_SPEED - 2.0 * w->mu[c];
        w->buoyancy[c] = 1.0 / DENSITY;
    }
}

static void initialise_serial(struct wave* w) {
    initialise_cells(w, 0, w->cells);
}

// Plane k goes to the thread that computes it; the halo goes with the outermost planes.
static void initialise_parallel(struct wave* w) {
#pragma omp parallel for schedule(static)
    for (size_t k = HALO; k < w->size + HALO; k++) {
        size_t first = k == HALO ? 0 : k;
        size_t end = k == w->size + HALO - 1 ? w->row : k + 1;
        initialise_cells(w, first * w->plane, end * w->plane);
    }
}

// Fourth-order difference at the point half a cell before f, along a direction whose neighbours
// are `stride` apart; pass f + stride for the point half a cell after it.
static inline double difference(const double* f, size_t stride) {
    return (9.0 / 8.0 * (f[0] - *(f - stride)) - 1.0 / 24.0 * (f[stride] - *(f - 2 * stride))) /
           GRID_STEP;
}

static void update_velocities(struct wave* w) {
    const size_t x = 1, y = w->row, z = w->plane;
#pragma omp parallel for schedule(static)
    for (size_t k = HALO; k < w->size + HALO; k++)
        for (size_t j = HALO; j < w->size + HALO; j++)
            for (size_t c = k * z + j * y + HALO; c < k * z + j * y + HALO + w->size; c++) {
                double rate = TIME_STEP * w->buoyancy[c];
                w->vx[c] += rate * (difference(w->sxx + c + x, x) + difference(w->sxy + c, y) +
                                    difference(w->sxz + c, z));
                w->vy[c] += rate * (difference(w->sxy + c, x) + difference(w->syy + c + y, y) +
                                    difference(w->syz + c, z));
                w->vz[c] += rate * (difference(w->sxz + c, x) + difference(w->syz + c, y) +
                                    difference(w->szz + c + z, z));
            }
}

static void update_stresses(struct wave* w) {
    const size_t x = 1, y = w->row, z = w->plane;
#pragma omp parallel for schedule(static)
    for (size_t k = HALO; k < w->size + HALO; k++)
        for (size_t j = HALO; j < w->size + HALO; j++)
            for (size_t c = k * z + j * y + HALO; c < k * z + j * y + HALO + w->size; c++) {
                double dx_vx = difference(w->vx + c, x);
                double dy_vy = difference(w->vy + c, y);
                double dz_vz = difference(w->vz + c, z);
                double pressure = w->lambda[c] * (dx_vx + dy_vy + dz_vz);
                double twice_mu = 2.0 * w->mu[c];
                double shear = TIME_STEP * w->mu[c];
                w->sxx[c] += TIME_STEP * (pressure + twice_mu * dx_vx);
                w->syy[c] += TIME_STEP * (pressure + twice_mu * dy_vy);
                w->szz[c] += TIME_STEP * (pressure + twice_mu * dz_vz);
                w->sxy[c] += shear * (difference(w->vx + c + y, y) + difference(w->vy + c + x, x));
                w->sxz[c] += shear * (difference(w->vx + c + z, z) + difference(w->vz + c + x, x));
                w->syz[c] += shear * (difference(w->vy + c + z, z) + difference(w->vz + c + y, y));
            }
}

static size_t centre(const struct wave* w) {
    return (w->plane + w->row + 1) * (HALO + w->size / 2);
}

// A Ricker wavelet of pressure in the middle cell.
static void explode(struct wave* w, int step) {
    double phase = M_PI * PEAK_FREQUENCY * (step * TIME_STEP - 1.0 / PEAK_FREQUENCY);
    double pressure = 1e6 * (1.0 - 2.0 * phase * phase) * exp(-phase * phase);
    size_t c = centre(w);
    w->sxx[c] += pressure;
    w->syy[c] += pressure;
    w->szz[c] += pressure;
}

static double kinetic_energy(const struct wave* w) {
    double energy = 0.0;
    for (size_t c = 0; c < w->cells; c++)
        energy += (w->vx[c] * w->vx[c] + w->vy[c] * w->vy[c] + w->vz[c] * w->vz[c]) /
                  (2.0 * w->buoyancy[c]);
    return energy * GRID_STEP * GRID_STEP * GRID_STEP;
}

// The cube, its material and the source look the same from x, y and z: so must the wave.
static bool symmetric(const struct wave* w) {
    size_t c = centre(w);
    double largest = 0.0, difference = 0.0;
    for (size_t d = 0; d < w->size - w->size / 2; d++) {
        double vx = w->vx[c + d], vy = w->vy[c + d * w->row], vz = w->vz[c + d * w->plane];
        largest = fmax(largest, fabs(vx));
        difference = fmax(difference, fmax(fabs(vx - vy), fabs(vx - vz)));
    }
    return largest > 0.0 && difference <= 1e-9 * largest;
}

static void usage(void) {
    fprintf(stderr, "usage: seismic [-n SIZE] [-s STEPS] [-t THREADS] serial|parallel\n");
    exit(2);
}

int main(int argc, char** argv) {
    size_t size = 60;
    int steps = 20, threads = 4;
    for (int option; (option = getopt(argc, argv, "n:s:t:")) != -1;) switch (option) {
            case 'n':
                size = (size_t)whole_number("-n", optarg, 4, MAX_SIZE);
                break;
            case 's':
                steps = (int)whole_number("-s", optarg, 1, MAX_STEPS);
                break;
            case 't':
                threads = (int)whole_number("-t", optarg, 1, MAX_THREADS);
                break;
            default:
                usage();
        }
    if (optind != argc - 1) usage();
    const char* version = argv[optind];
    bool serial = strcmp(version, "serial") == 0;
    if (!serial && strcmp(version, "parallel") != 0) usage();
    omp_set_dynamic(0);
    omp_set_num_threads(threads);

    struct wave wave;
    allocate_fields(&wave, size);
    if (serial)
        initialise_serial(&wave);
    else
        initialise_parallel(&wave);
    for (int step = 0; step < steps; step++) {
        explode(&wave, step);
        update_velocities(&wave);
        update_stresses(&wave);
    }

    double energy = kinetic_energy(&wave);
    bool right = isfinite(energy) && energy > 0.0 && symmetric(&wave);
    printf("seismic %s: %zu^3 cells, %d steps, %d threads, energy %.6g J, wave %s\n", version, size,
           steps, threads, energy, right ? "symmetric" : "WRONG");
    free_fields(&wave);
    return right ? 0 : 1;
}
