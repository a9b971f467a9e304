// SPDX-License-Identifier: Apache-2.0
// Nearest neighbours by random projections: each query looks at the vectors of some buckets.
// Scoped threads; the queries are divided with chunks_mut.
// label: vectors = shared, read-mostly
// Why: main makes all vectors, and each thread compares its queries with vectors anywhere.
// action: vectors = copy or spread
// harm: vectors = local
// label: answers = serial first touch
// Why: main fills the answers with "none", and each thread writes those of its queries.
// action: answers = local
// harm: answers = copy
use std::thread;

const VECTORS: usize = 1 << 15;
const WIDTH: usize = 32;
const QUERIES: usize = 1 << 14;
const LOOKED_AT: usize = 48;
const BEST: usize = 24;
const THREADS: usize = 4;

#[derive(Clone, Copy)]
struct Hit {
    id: u32,
    distance: f32,
}

fn mixed(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

fn coordinate(seed: u64, axis: usize) -> f32 {
    (mixed(seed * 64 + axis as u64) >> 40) as f32 / (1u64 << 24) as f32
}

fn answer(query: usize, vectors: &[f32], hits: &mut [Hit]) {
    let mut wanted = [0f32; WIDTH];
    for (axis, value) in wanted.iter_mut().enumerate() {
        *value = coordinate(query as u64 + 1_000_000, axis);
    }
    for k in 0..LOOKED_AT {
        let id = (mixed((query * LOOKED_AT + k) as u64) % VECTORS as u64) as usize;
        let vector = &vectors[id * WIDTH..(id + 1) * WIDTH];
        let mut distance = 0f32;
        for axis in 0..WIDTH {
            let d = vector[axis] - wanted[axis];
            distance += d * d;
        }
        // Sorted insertion.
        let mut at = BEST;
        while at > 0 && hits[at - 1].distance > distance {
            if at < BEST {
                hits[at] = hits[at - 1];
            }
            at -= 1;
        }
        if at < BEST {
            hits[at] = Hit {
                id: id as u32,
                distance,
            };
        }
    }
}

fn main() {
    let mut vectors = Vec::with_capacity(VECTORS * WIDTH);
    for id in 0..VECTORS {
        for axis in 0..WIDTH {
            vectors.push(coordinate(id as u64, axis));
        }
    }
    let mut answers = vec![
        Hit {
            id: u32::MAX,
            distance: f32::MAX
        };
        QUERIES * BEST
    ];
    let vectors = &vectors;
    thread::scope(|scope| {
        for (part, hits) in answers.chunks_mut(QUERIES / THREADS * BEST).enumerate() {
            scope.spawn(move || {
                for (q, hits) in hits.chunks_mut(BEST).enumerate() {
                    answer(part * (QUERIES / THREADS) + q, vectors, hits);
                }
            });
        }
    });
    let sum: f64 = answers.iter().map(|hit| f64::from(hit.distance)).sum();
    let ids: u64 = answers.iter().map(|hit| u64::from(hit.id)).sum();
    println!("distances {sum:.3}, ids {ids}");
}
