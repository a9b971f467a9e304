// SPDX-License-Identifier: Apache-2.0
// Main fills the reads. Threads count parts of them in one table and one counter.
// label: count = shared, written | true sharing of cache lines
// action: count = spread | divide
// harm: count = copy
// label: total = true sharing of cache lines | false sharing of cache lines | hot pages
// action: total = divide
// harm: total = pad | local | spread
// label: bases = serial first touch
// action: bases = local | spread
// harm: bases = copy
// minor: score = partitioned
// action: score = none
// minor: genome = partitioned
// action: genome = none
// K-mer spectrum of sequencing reads, then a quality score per read from
// the abundance of its k-mers.
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

const K: usize = 11;
const READ_LEN: usize = 100;
const N_READS: usize = 200_000;
const GENOME: usize = 900_000;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// All reads back to back, one base per byte.
struct ReadSet {
    bases: Vec<u8>,
}

impl ReadSet {
    fn simulate(rng: &mut Rng) -> ReadSet {
        let genome: Vec<u8> = (0..GENOME)
            .map(|_| b"ACGT"[(rng.next() >> 33) as usize & 3])
            .collect();
        let mut bases = Vec::with_capacity(N_READS * READ_LEN);
        for _ in 0..N_READS {
            let start = (rng.next() >> 20) as usize % (GENOME - READ_LEN);
            bases.extend_from_slice(&genome[start..start + READ_LEN]);
            if rng.next() & 3 == 0 {
                let at = bases.len() - 1 - (rng.next() >> 30) as usize % READ_LEN;
                bases[at] = b"ACGT"[(rng.next() >> 33) as usize & 3];
            }
        }
        ReadSet { bases }
    }

    fn len(&self) -> usize {
        self.bases.len() / READ_LEN
    }

    fn read(&self, i: usize) -> &[u8] {
        &self.bases[i * READ_LEN..(i + 1) * READ_LEN]
    }
}

fn code(b: u8) -> usize {
    ((b >> 1) & 3) as usize
}

fn kmers(read: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mask = (1usize << (2 * K)) - 1;
    let mut h = 0usize;
    read.iter().enumerate().filter_map(move |(i, &b)| {
        h = (h << 2 | code(b)) & mask;
        if i + 1 >= K {
            Some(h)
        } else {
            None
        }
    })
}

struct Spectrum {
    count: Vec<AtomicU32>,
    total: AtomicUsize,
}

impl Spectrum {
    fn new() -> Spectrum {
        Spectrum {
            count: (0..1usize << (2 * K)).map(|_| AtomicU32::new(0)).collect(),
            total: AtomicUsize::new(0),
        }
    }

    fn add(&self, kmer: usize) {
        self.count[kmer].fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self, kmer: usize) -> u32 {
        self.count[kmer].load(Ordering::Relaxed)
    }
}

fn main() {
    let threads: usize = std::env::args()
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(4);
    let mut rng = Rng(0x2545F4914F6CDD1D);
    let reads = ReadSet::simulate(&mut rng);
    let spectrum = Spectrum::new();

    let t0 = Instant::now();
    thread::scope(|s| {
        for t in 0..threads {
            let (reads, spectrum) = (&reads, &spectrum);
            s.spawn(move || {
                let range = reads.len() * t / threads..reads.len() * (t + 1) / threads;
                for i in range {
                    for k in kmers(reads.read(i)) {
                        spectrum.add(k);
                    }
                }
            });
        }
    });
    let counted = t0.elapsed();

    let mut score = vec![0f32; reads.len()];
    let per = reads.len().div_ceil(threads);
    thread::scope(|s| {
        for (t, part) in score.chunks_mut(per).enumerate() {
            let (reads, spectrum) = (&reads, &spectrum);
            s.spawn(move || {
                for (j, out) in part.iter_mut().enumerate() {
                    let read = reads.read(t * per + j);
                    let mut low = u32::MAX;
                    let mut sum = 0u32;
                    for k in kmers(read) {
                        let c = spectrum.get(k);
                        low = low.min(c);
                        sum += c;
                    }
                    *out = low as f32 + sum as f32 / (READ_LEN - K + 1) as f32;
                }
            });
        }
    });

    let sum: f64 = score.iter().map(|&x| x as f64).sum();
    println!(
        "kmer: {} k-mers counted in {:.3} s, checksum {:.4}",
        spectrum.total.load(Ordering::Relaxed),
        counted.as_secs_f64(),
        sum
    );
}
