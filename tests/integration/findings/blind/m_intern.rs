// SPDX-License-Identifier: Apache-2.0
// A counter and the locks of the shards are written for every token: true sharing of their lines.
// label: interner = true sharing of cache lines
// action: interner = divide | pad
// label: shards = true sharing of cache lines
// action: shards = divide | pad
// label: tokens = serial first touch
// action: tokens = local
// label: ids = partitioned
// action: ids = none
// harm: shards = spread | copy
// harm: interner = spread | copy
// Interning of identifiers from a token stream with a sharded table behind mutexes.
//   usage: intern [tokens] [threads]
use std::collections::hash_map::DefaultHasher;
use std::collections::HashMap;
use std::env;
use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Mutex;
use std::thread;

const SHARDS: usize = 16;

#[derive(Default)]
struct Shard {
    map: HashMap<Box<str>, u32>,
    bytes: usize,
}

struct Interner {
    shards: Vec<Mutex<Shard>>,
    next: AtomicU32,
    lookups: AtomicU64,
}

impl Interner {
    fn new() -> Self {
        Interner {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
            next: AtomicU32::new(0),
            lookups: AtomicU64::new(0),
        }
    }

    fn intern(&self, s: &str) -> u32 {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let mut h = DefaultHasher::new();
        s.hash(&mut h);
        let mut shard = self.shards[(h.finish() >> 40) as usize % SHARDS].lock().unwrap();
        if let Some(&id) = shard.map.get(s) {
            return id;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        shard.bytes += s.len();
        shard.map.insert(s.into(), id);
        id
    }

    fn totals(&self) -> (usize, usize) {
        let mut n = 0;
        let mut bytes = 0;
        for s in &self.shards {
            let s = s.lock().unwrap();
            n += s.map.len();
            bytes += s.bytes;
        }
        (n, bytes)
    }
}

// the "source files": a stream of identifier numbers, a few common, most rare
fn token_stream(n: usize) -> Vec<u32> {
    let mut z = 0xDEAD_BEEF_1234_5678u64;
    let mut v = Vec::with_capacity(n);
    for _ in 0..n {
        z ^= z << 13;
        z ^= z >> 7;
        z ^= z << 17;
        let u = (z >> 11) as f64 / (1u64 << 53) as f64;
        let range = if z & 7 < 3 { 200.0 } else { n as f64 / 3.0 };
        v.push((u * u * range) as u32);
    }
    v
}

fn spell(buf: &mut String, tok: u32) {
    buf.clear();
    let prefix = ["get", "set", "is", "make", "tmp", "on"][tok as usize % 6];
    write!(buf, "{}_{:x}_{}", prefix, tok.wrapping_mul(2654435761), tok % 89).unwrap();
}

struct Summary {
    unique_first: u64,
    lens: u64,
}

fn main() {
    let a: Vec<String> = env::args().collect();
    let n: usize = a.get(1).map_or(700_000, |s| s.parse().unwrap());
    let nt: usize = a.get(2).map_or(4, |s| s.parse().unwrap());

    let tokens = token_stream(n);
    let mut ids = vec![0u32; n];
    let interner = Interner::new();

    let chunk = (n + nt - 1) / nt;
    let summaries: Vec<Summary> = thread::scope(|sc| {
        let handles: Vec<_> = tokens
            .chunks(chunk)
            .zip(ids.chunks_mut(chunk))
            .map(|(toks, out)| {
                let interner = &interner;
                sc.spawn(move || {
                    let mut s = Summary { unique_first: 0, lens: 0 };
                    let mut buf = String::new();
                    let mut high = 0;
                    for (t, o) in toks.iter().zip(out.iter_mut()) {
                        spell(&mut buf, *t);
                        let id = interner.intern(&buf);
                        if id >= high {
                            high = id + 1;
                            s.unique_first += 1;
                        }
                        s.lens += buf.len() as u64;
                        *o = id;
                    }
                    s
                })
            })
            .collect();
        handles.into_iter().map(|h| h.join().unwrap()).collect()
    });

    let (n_unique, bytes) = interner.totals();
    let lens: u64 = summaries.iter().map(|s| s.lens).sum();
    let firsts: u64 = summaries.iter().map(|s| s.unique_first).sum();
    assert!(firsts >= 1 && ids.iter().all(|&i| (i as usize) < n_unique));
    println!(
        "checksum {} unique {} bytes {} lookups {}",
        lens,
        n_unique,
        bytes,
        interner.lookups.load(Ordering::Relaxed)
    );
}
