// SPDX-License-Identifier: Apache-2.0
// Threads make and merge sorted runs, and new threads look random keys up in what they made.
// label: runs = partitioned
// action: runs = none
// label: out = shared, read-mostly
// action: out = none | spread | copy
// label: bloom = shared, read-mostly
// action: bloom = copy | spread
// LSM tree: flushed runs, one compaction into range segments, then lookups.
use std::env;
use std::thread;

const RUN: usize = 60_000;
const RUNS_PER_THREAD: usize = 2;
const LOOKUPS: usize = 450_000;
const BLOOM_BITS: usize = 1 << 23;

type Pair = (u64, u64);

struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545F4914F6CDD1D)
    }
}

fn hash(k: u64, i: u64) -> usize {
    let h = (k ^ (i << 56)).wrapping_mul(0x9E3779B97F4A7C15);
    ((h ^ (h >> 29)) as usize) % BLOOM_BITS
}

fn make_run(seed: u64) -> Vec<Pair> {
    let mut rng = Rng(seed);
    let mut run: Vec<Pair> = Vec::with_capacity(RUN);
    for i in 0..RUN {
        run.push((rng.next(), i as u64));
    }
    run.sort_unstable();
    run
}

fn compact(runs: &[Vec<Pair>], lo: u64, hi: u64) -> Vec<Pair> {
    let mut at: Vec<usize> = runs.iter().map(|r| r.partition_point(|p| p.0 < lo)).collect();
    let end: Vec<usize> = runs
        .iter()
        .map(|r| if hi == u64::MAX { r.len() } else { r.partition_point(|p| p.0 < hi) })
        .collect();
    let total: usize = at.iter().zip(&end).map(|(a, e)| e - a).sum();
    let mut out: Vec<Pair> = Vec::with_capacity(total);
    loop {
        let mut best: Option<usize> = None;
        for r in 0..runs.len() {
            if at[r] < end[r] && best.map_or(true, |b| runs[r][at[r]].0 < runs[b][at[b]].0) {
                best = Some(r);
            }
        }
        match best {
            None => break,
            Some(r) => {
                out.push(runs[r][at[r]]);
                at[r] += 1;
            }
        }
    }
    out
}

fn main() {
    let nt: usize = env::args()
        .nth(1)
        .or_else(|| env::var("OMP_NUM_THREADS").ok())
        .and_then(|s| s.parse().ok())
        .unwrap_or(4);

    let runs: Vec<Vec<Pair>> = thread::scope(|s| {
        let hs: Vec<_> = (0..nt)
            .map(|t| {
                s.spawn(move || {
                    (0..RUNS_PER_THREAD)
                        .map(|k| make_run(1 + (t * RUNS_PER_THREAD + k) as u64 * 7919))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        hs.into_iter().flat_map(|h| h.join().unwrap()).collect()
    });

    let step = u64::MAX / nt as u64;
    let runs_ref = &runs;
    let segments: Vec<Vec<Pair>> = thread::scope(|s| {
        let hs: Vec<_> = (0..nt as u64)
            .map(|t| {
                let hi = if t as usize == nt - 1 { u64::MAX } else { (t + 1) * step };
                s.spawn(move || compact(runs_ref, t * step, hi))
            })
            .collect();
        hs.into_iter().map(|h| h.join().unwrap()).collect()
    });

    let mut bloom = vec![0u64; BLOOM_BITS / 64];
    for seg in &segments {
        for p in seg {
            for i in 0..3 {
                let b = hash(p.0, i);
                bloom[b / 64] |= 1 << (b % 64);
            }
        }
    }

    let (bloom_ref, seg_ref) = (&bloom, &segments);
    let found: Vec<(u64, u64)> = thread::scope(|s| {
        let hs: Vec<_> = (0..nt)
            .map(|t| {
                s.spawn(move || {
                    let all = nt * RUNS_PER_THREAD;
                    let mut rng = Rng(1);
                    let mut used = 0;
                    let mut other = Rng(777 + t as u64);
                    let (mut hits, mut sum) = (0u64, 0u64);
                    for i in 0..LOOKUPS {
                        let key = if i % 3 != 0 {
                            if used % RUN == 0 {
                                rng = Rng(1 + ((t * 5 + used / RUN) % all) as u64 * 7919);
                            }
                            used += 1;
                            rng.next()
                        } else {
                            other.next()
                        };
                        if (0..3).any(|j| {
                            let b = hash(key, j);
                            bloom_ref[b / 64] >> (b % 64) & 1 == 0
                        }) {
                            continue;
                        }
                        let seg = &seg_ref[((key / step) as usize).min(nt - 1)];
                        if let Ok(pos) = seg.binary_search_by(|p| p.0.cmp(&key)) {
                            hits += 1;
                            sum = sum.wrapping_add(seg[pos].1);
                        }
                    }
                    (hits, sum)
                })
            })
            .collect();
        hs.into_iter().map(|h| h.join().unwrap()).collect()
    });

    let hits: u64 = found.iter().map(|f| f.0).sum();
    let sum: u64 = found.iter().map(|f| f.1).fold(0, |a, b| a.wrapping_add(b));
    let keys: usize = segments.iter().map(|s| s.len()).sum();
    println!("keys {} hits {} sum {}", keys, hits, sum);
}
