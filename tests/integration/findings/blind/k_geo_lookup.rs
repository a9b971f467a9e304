// SPDX-License-Identifier: Apache-2.0
// Finds the country of network addresses by binary search in a table of ranges that the main thread
// builds and all threads share. The addresses are random, so each thread reads all of the table.
// Nobody writes it after that. The counts of a thread are its own.
// label: ranges = shared, read-mostly
// action: ranges = copy or spread
// harm: ranges = local
// harm: ranges = divide
use std::sync::Arc;
use std::thread;

const RANGES: u32 = 3_000_000;
const LOOKUPS: usize = 400_000;
const COUNTRIES: usize = 200;

struct Range {
    first: u32,
    last: u32,
    country: u32,
}

fn build() -> Vec<Range> {
    let step = u32::MAX / RANGES;
    let mut ranges = Vec::with_capacity(RANGES as usize);
    for n in 0..RANGES {
        let first = n * step;
        let country = n.wrapping_mul(2654435761) >> 8;
        ranges.push(Range { first, last: first + step - 1 - n % 7, country: country % COUNTRIES as u32 });
    }
    ranges
}

fn country_of(ranges: &[Range], address: u32) -> Option<usize> {
    let at = ranges.partition_point(|r| r.first <= address);
    let range = &ranges[at.checked_sub(1)?];
    (address <= range.last).then_some(range.country as usize)
}

fn serve(ranges: &[Range], seed: u64, lookups: usize) -> Vec<u64> {
    let mut counts = vec![0u64; COUNTRIES + 1];
    let mut state = seed.wrapping_mul(0x9e3779b97f4a7c15);
    for _ in 0..lookups {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        counts[country_of(ranges, (state >> 24) as u32).unwrap_or(COUNTRIES)] += 1;
    }
    counts
}

fn main() {
    let threads: usize = std::env::args().nth(1).map_or(4, |a| a.parse().expect("a number"));
    let ranges = Arc::new(build());
    let workers: Vec<_> = (0..threads)
        .map(|id| {
            let ranges = Arc::clone(&ranges);
            thread::spawn(move || serve(&ranges, id as u64 + 1, LOOKUPS / threads))
        })
        .collect();
    let mut checksum = 0u64;
    for worker in workers {
        let counts = worker.join().expect("counts");
        checksum += counts.iter().enumerate().map(|(c, n)| (c as u64 + 1) * n).sum::<u64>();
    }
    println!("checksum {checksum}");
}
