// SPDX-License-Identifier: Apache-2.0
// Counting k-mers of a genome. Each thread makes its own bases (in the real program: reads its own
// file) and counts in a table of its own; both are allocated, written and read in that thread only.
// Main receives one number from each thread.
// label: run = no NUMA problem
// label: bases = partitioned
// action: bases = none
// label: counts = partitioned
// action: counts = none
use std::thread;

const BASES: usize = 3 << 20;
const K: u32 = 10;
const KMERS: usize = 1 << (2 * K);

fn make_bases(bases: &mut [u8], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for base in bases.iter_mut() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *base = (state >> 33) as u8 & 3;
    }
}

fn count_kmers(bases: &[u8], counts: &mut [u32]) {
    let mask = KMERS - 1;
    let mut kmer = 0usize;
    for (position, &base) in bases.iter().enumerate() {
        kmer = ((kmer << 2) | base as usize) & mask;
        if position + 1 >= K as usize {
            counts[kmer] += 1;
        }
    }
}

/// The number of different k-mers, and how often the most frequent one occurs.
fn work(number: u64) -> (usize, u32) {
    let mut bases = vec![0u8; BASES];
    let mut counts = vec![0u32; KMERS];
    make_bases(&mut bases, number + 1);
    count_kmers(&bases, &mut counts);
    let different = counts.iter().filter(|&&count| count > 0).count();
    let most = counts.iter().copied().max().unwrap_or(0);
    (different, most)
}

fn main() {
    let threads: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(4);
    let workers: Vec<_> = (0..threads).map(|number| thread::spawn(move || work(number))).collect();
    for (number, worker) in workers.into_iter().enumerate() {
        let (different, most) = worker.join().expect("a worker failed");
        println!("part {number}: {different} different, at most {most} times");
    }
}
