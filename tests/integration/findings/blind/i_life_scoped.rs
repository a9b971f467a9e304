// SPDX-License-Identifier: Apache-2.0
// label: cells = serial first touch
// Why: One thread seeds the cells. In each generation new threads work on the same four bands of
// rows, so the bands could be seeded by threads with the same division.
// action: cells = local
// harm: cells = copy
// label: next = partitioned
// Why: The zeros come untouched from the kernel, and each band is written first by its thread.
// action: next = none
// harm: next = spread | copy
// Growth of lichen: scoped threads in each generation, a band of rows each.
//   usage: life_scoped [side] [generations] [threads]
use std::thread;

fn grow(old: &[u8], band: &mut [u8], first: usize, side: usize) {
    for (row, line) in band.chunks_mut(side).enumerate() {
        let y = first + row;
        let above = &old[(y + side - 1) % side * side..][..side];
        let here = &old[y * side..][..side];
        let below = &old[(y + 1) % side * side..][..side];
        for x in 1..side - 1 {
            let sum = above[x - 1] as u32 + above[x] as u32 + above[x + 1] as u32
                + here[x - 1] as u32 + here[x + 1] as u32
                + below[x - 1] as u32 + below[x] as u32 + below[x + 1] as u32;
            line[x] = match (here[x], sum) {
                (0, 3) | (1, 2) | (1, 3) => 1,
                _ => 0,
            };
        }
    }
}

fn main() {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    let side = numbers.first().copied().unwrap_or(1600);
    let generations = numbers.get(1).copied().unwrap_or(8);
    let workers = numbers.get(2).copied().unwrap_or(4);
    let mut random = 2463534242u32;
    let mut cells: Vec<u8> = Vec::with_capacity(side * side);
    for _ in 0..side * side {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        cells.push((random >> 29 == 0) as u8);
    }
    let mut next = vec![0u8; side * side];
    let rows = side.div_ceil(workers);
    for _ in 0..generations {
        thread::scope(|scope| {
            for (index, band) in next.chunks_mut(rows * side).enumerate() {
                let old = &cells;
                scope.spawn(move || grow(old, band, index * rows, side));
            }
        });
        std::mem::swap(&mut cells, &mut next);
    }
    println!("alive {}", cells.iter().map(|&c| c as u64).sum::<u64>());
}
