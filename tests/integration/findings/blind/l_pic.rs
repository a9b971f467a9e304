// SPDX-License-Identifier: Apache-2.0
// Particles in cells: each thread has its own particles; the grids are small.
// label: run = no NUMA problem
// label: p.x = partitioned
// label: p.y = partitioned
// label: p.vx = partitioned
// label: p.vy = partitioned
// label: rho = cache-resident
// Electrostatic particle-in-cell plasma in two dimensions.
// usage: l_pic [threads] [thousands of particles]
use std::env;
use std::sync::{Arc, Barrier, Mutex, RwLock};
use std::thread;

const G: usize = 64;
const STEPS: usize = 60;

struct Particles {
    x: Vec<f32>,
    y: Vec<f32>,
    vx: Vec<f32>,
    vy: Vec<f32>,
}

struct Field {
    ex: Vec<f32>,
    ey: Vec<f32>,
}

struct Shared {
    field: RwLock<Field>,
    density: Vec<Mutex<Vec<f64>>>,
    barrier: Barrier,
}

fn hash(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
    z ^ (z >> 31)
}

fn unit(z: u64) -> f32 {
    (hash(z) >> 40) as f32 / (1u64 << 24) as f32
}

impl Particles {
    fn sample(first: usize, count: usize) -> Particles {
        let mut p = Particles {
            x: Vec::with_capacity(count),
            y: Vec::with_capacity(count),
            vx: Vec::with_capacity(count),
            vy: Vec::with_capacity(count),
        };
        for i in first..first + count {
            let k = i as u64 * 4;
            let beam = if i % 2 == 0 { 1.0 } else { -1.0 };
            p.x.push(unit(k) * G as f32);
            p.y.push(unit(k + 1) * G as f32);
            p.vx.push(beam + 0.1 * (unit(k + 2) - 0.5));
            p.vy.push(0.1 * (unit(k + 3) - 0.5));
        }
        p
    }

    fn push(&mut self, f: &Field, dt: f32) {
        let g = G as f32;
        for i in 0..self.x.len() {
            let c = (self.y[i] as usize & (G - 1)) * G + (self.x[i] as usize & (G - 1));
            self.vx[i] += dt * f.ex[c];
            self.vy[i] += dt * f.ey[c];
            let mut x = self.x[i] + dt * self.vx[i];
            let mut y = self.y[i] + dt * self.vy[i];
            if x < 0.0 { x += g } else if x >= g { x -= g }
            if y < 0.0 { y += g } else if y >= g { y -= g }
            self.x[i] = x;
            self.y[i] = y;
        }
    }

    fn deposit(&self, rho: &mut [f64]) {
        rho.fill(0.0);
        for i in 0..self.x.len() {
            let (ix, iy) = (self.x[i] as usize, self.y[i] as usize);
            let (fx, fy) = ((self.x[i] - ix as f32) as f64, (self.y[i] - iy as f32) as f64);
            let (x0, y0) = (ix & (G - 1), iy & (G - 1));
            let (x1, y1) = ((ix + 1) & (G - 1), (iy + 1) & (G - 1));
            rho[y0 * G + x0] += (1.0 - fx) * (1.0 - fy);
            rho[y0 * G + x1] += fx * (1.0 - fy);
            rho[y1 * G + x0] += (1.0 - fx) * fy;
            rho[y1 * G + x1] += fx * fy;
        }
    }
}

fn solve(shared: &Shared, phi: &mut [f64], mean: f64) {
    let mut rho = vec![0.0f64; G * G];
    for d in &shared.density {
        for (r, v) in rho.iter_mut().zip(d.lock().unwrap().iter()) {
            *r += v;
        }
    }
    for r in rho.iter_mut() {
        *r = *r / mean - 1.0;
    }
    for _ in 0..12 {
        for y in 0..G {
            for x in 0..G {
                let (l, r) = ((x + G - 1) & (G - 1), (x + 1) & (G - 1));
                let (u, d) = ((y + G - 1) & (G - 1), (y + 1) & (G - 1));
                phi[y * G + x] = 0.25
                    * (phi[y * G + l] + phi[y * G + r] + phi[u * G + x] + phi[d * G + x] + rho[y * G + x]);
            }
        }
    }
    let mut f = shared.field.write().unwrap();
    for y in 0..G {
        for x in 0..G {
            let (l, r) = ((x + G - 1) & (G - 1), (x + 1) & (G - 1));
            let (u, d) = ((y + G - 1) & (G - 1), (y + 1) & (G - 1));
            f.ex[y * G + x] = (0.5 * (phi[y * G + l] - phi[y * G + r])) as f32;
            f.ey[y * G + x] = (0.5 * (phi[u * G + x] - phi[d * G + x])) as f32;
        }
    }
}

fn species(id: usize, threads: usize, total: usize, shared: &Shared) -> f64 {
    let first = total * id / threads;
    let count = total * (id + 1) / threads - first;
    let mut p = Particles::sample(first, count);
    let mut rho = vec![0.0f64; G * G];
    let mut phi = vec![0.0f64; G * G];
    let mean = total as f64 / (G * G) as f64;
    for _ in 0..STEPS {
        p.deposit(&mut rho);
        shared.density[id].lock().unwrap().copy_from_slice(&rho);
        if shared.barrier.wait().is_leader() {
            // the potential is kept with whoever solves, so it is rebuilt from zero
            phi.fill(0.0);
            solve(shared, &mut phi, mean);
        }
        shared.barrier.wait();
        let f = shared.field.read().unwrap();
        p.push(&f, 0.05);
    }
    let mut energy = 0.0;
    for i in 0..p.x.len() {
        energy += 0.5 * (p.vx[i] as f64 * p.vx[i] as f64 + p.vy[i] as f64 * p.vy[i] as f64);
    }
    energy
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let threads: usize = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(4).max(1);
    let total: usize = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(3200).max(1) * 1000;
    let shared = Arc::new(Shared {
        field: RwLock::new(Field { ex: vec![0.0; G * G], ey: vec![0.0; G * G] }),
        density: (0..threads).map(|_| Mutex::new(vec![0.0; G * G])).collect(),
        barrier: Barrier::new(threads),
    });
    let handles: Vec<_> = (0..threads)
        .map(|id| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || species(id, threads, total, &shared))
        })
        .collect();
    let energy: f64 = handles.into_iter().map(|h| h.join().unwrap()).sum();
    println!("particles {} steps {} checksum {:.6}", total, STEPS, energy / total as f64);
}
