// SPDX-License-Identifier: Apache-2.0
// A server limits the requests of its customers. Each worker has its own customers, whose buckets
// of tokens it allocates itself. How many requests were served and refused is counted per worker,
// for a monitor, in atomic numbers: 16 bytes per worker, side by side in one vector. Nobody else
// changes the counts of a worker, but four workers share a line, and take it from each other.
// label: counts = false sharing of cache lines
// action: counts = pad
// label: buckets = partitioned
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

const REQUESTS: u64 = 24_000_000;
const CUSTOMERS: usize = 1 << 16;

#[derive(Default)]
struct Count {
    served: AtomicU64,
    refused: AtomicU64,
}

#[derive(Clone, Default)]
struct Bucket {
    tokens: u32,
    filled: u32,
}

fn serve(worker: u64, requests: u64, count: &Count) {
    let mut buckets = vec![Bucket { tokens: 8, filled: 1 }; CUSTOMERS];
    let mut state = worker + 88_172_645_463_325_252;
    for now in 0..requests {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let bucket = &mut buckets[(state >> 32) as usize % CUSTOMERS];
        let earned = (now / 32768) as u32 + 1 - bucket.filled;
        bucket.tokens = (bucket.tokens + earned).min(8);
        bucket.filled += earned;
        if bucket.tokens > 0 {
            bucket.tokens -= 1;
            count.served.fetch_add(1, Relaxed);
        } else {
            count.refused.fetch_add(1, Relaxed);
        }
    }
}

fn main() {
    let threads: u64 = match std::env::args().nth(1) {
        Some(text) => text.parse().expect("the number of threads"),
        None => 4,
    };
    let counts: Vec<Count> = (0..threads).map(|_| Count::default()).collect();
    thread::scope(|scope| {
        for (worker, count) in counts.iter().enumerate() {
            scope.spawn(move || serve(worker as u64, REQUESTS / threads, count));
        }
    });
    let served: u64 = counts.iter().map(|count| count.served.load(Relaxed)).sum();
    let refused: u64 = counts.iter().map(|count| count.refused.load(Relaxed)).sum();
    println!("{served} served, {refused} refused");
}
