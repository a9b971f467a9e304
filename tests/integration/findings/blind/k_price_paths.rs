// SPDX-License-Identifier: Apache-2.0
// Value at risk: each thread simulates its own paths into its own vector, sorts it, and returns some
// quantiles. All memory is allocated, filled and sorted by one thread. Nothing is to be done.
// label: outcomes = partitioned
// action: outcomes = none
// label: run = no NUMA problem
// action: run = none
use std::thread;

const PATHS: usize = 4_000_000;
const STEPS: usize = 20;

fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

fn simulate(seed: u64, paths: usize) -> [f64; 3] {
    let mut state = seed;
    let mut outcomes = Vec::with_capacity(paths);
    for _ in 0..paths {
        let mut price = 100.0;
        for _ in 0..STEPS {
            price *= 1.0 + 0.02 * (uniform(&mut state) - 0.49);
        }
        outcomes.push(price);
    }
    outcomes.sort_unstable_by(|a: &f64, b| a.total_cmp(b));
    [outcomes[paths / 100], outcomes[paths / 20], outcomes[paths / 2]]
}

fn main() {
    let threads: usize = std::env::args().nth(1).map_or(4, |a| a.parse().expect("a number"));
    let workers: Vec<_> = (0..threads)
        .map(|id| thread::spawn(move || simulate(id as u64 * 7919 + 1, PATHS / threads)))
        .collect();
    let mut mean = [0.0; 3];
    for worker in workers {
        for (sum, one) in mean.iter_mut().zip(worker.join().expect("quantiles")) {
            *sum += one / threads as f64;
        }
    }
    println!("quantiles {:.4} {:.4} {:.4}", mean[0], mean[1], mean[2]);
}
