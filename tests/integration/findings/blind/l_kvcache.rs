// SPDX-License-Identifier: Apache-2.0
// A cache of keys and values in shards, which the main thread fills. Any thread reads and writes
// any entry, and all threads increment the same four counters at each operation.
// label: slots = shared, written
// action: slots = spread
// harm: slots = copy
// label: meter = true sharing of cache lines
// harm: meter = pad
// label: shards = cache-resident | true sharing of cache lines
// Sharded in-memory key-value cache under a mixed get/update load.
// usage: l_kvcache [threads] [thousands of keys]
use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

const SHARDS: usize = 256;
const VALUE: usize = 176;

#[derive(Clone)]
struct Entry {
    key: u64,
    stamp: u64,
    version: u64,
    used: bool,
    value: [u8; VALUE],
}

struct Shard {
    slots: Vec<Entry>,
    mask: usize,
}

#[derive(Default)]
struct Meter {
    clock: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    updates: AtomicU64,
}

struct Cache {
    shards: Vec<Mutex<Shard>>,
    meter: Meter,
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        mix(self.0)
    }
}

impl Shard {
    fn new(capacity: usize) -> Self {
        let size = capacity.next_power_of_two();
        let blank = Entry { key: 0, stamp: 0, version: 0, used: false, value: [0xff; VALUE] };
        Shard { slots: vec![blank; size], mask: size - 1 }
    }

    fn find(&self, key: u64, hash: u64) -> Option<usize> {
        let mut at = (hash >> 8) as usize & self.mask;
        loop {
            let e = &self.slots[at];
            if !e.used {
                return None;
            }
            if e.key == key {
                return Some(at);
            }
            at = (at + 1) & self.mask;
        }
    }

    fn insert(&mut self, key: u64, hash: u64) {
        let mut at = (hash >> 8) as usize & self.mask;
        while self.slots[at].used {
            if self.slots[at].key == key {
                return;
            }
            at = (at + 1) & self.mask;
        }
        let e = &mut self.slots[at];
        e.key = key;
        e.used = true;
        let mut r = Rng(key);
        for c in e.value.chunks_mut(8) {
            c.copy_from_slice(&r.next().to_le_bytes());
        }
    }
}

impl Cache {
    fn load(keys: u64) -> Self {
        let per_shard = (keys as usize / SHARDS) * 3 / 2 + 16;
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::new(per_shard))).collect::<Vec<_>>();
        let cache = Cache { shards, meter: Meter::default() };
        for k in 0..keys {
            let h = mix(k);
            cache.shards[h as usize % SHARDS].lock().unwrap().insert(k, h);
        }
        cache
    }

    fn get(&self, key: u64) -> Option<u64> {
        let h = mix(key);
        let tick = self.meter.clock.fetch_add(1, Ordering::Relaxed);
        let mut shard = self.shards[h as usize % SHARDS].lock().unwrap();
        match shard.find(key, h) {
            Some(at) => {
                let e = &mut shard.slots[at];
                e.stamp = tick;
                let mut s = 0u64;
                for c in e.value.chunks_exact(8) {
                    s = s.wrapping_add(u64::from_le_bytes(c.try_into().unwrap()));
                }
                self.meter.hits.fetch_add(1, Ordering::Relaxed);
                Some(s)
            }
            None => {
                self.meter.misses.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    fn update(&self, key: u64, delta: u64) {
        let h = mix(key);
        let tick = self.meter.clock.fetch_add(1, Ordering::Relaxed);
        let mut shard = self.shards[h as usize % SHARDS].lock().unwrap();
        if let Some(at) = shard.find(key, h) {
            let e = &mut shard.slots[at];
            e.stamp = tick;
            e.version = e.version.wrapping_add(delta);
            self.meter.updates.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn digest(&self) -> u64 {
        let mut sum = 0u64;
        for s in &self.shards {
            for e in s.lock().unwrap().slots.iter().filter(|e| e.used) {
                sum = sum.wrapping_add(mix(e.key ^ e.version));
            }
        }
        sum
    }
}

fn client(cache: &Cache, id: u64, keys: u64, ops: u64) -> u64 {
    let mut rng = Rng(id * 7_777_777 + 3);
    let mut sum = 0u64;
    for _ in 0..ops {
        let r = rng.next();
        let key = (r >> 16) % (keys + keys / 16);
        if r & 7 < 6 {
            sum = sum.wrapping_add(cache.get(key).unwrap_or(1));
        } else {
            cache.update(key, r >> 40);
        }
    }
    sum
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let threads: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(4);
    let keys: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(400) * 1000;
    let cache = Arc::new(Cache::load(keys));
    let ops = 12_000_000 / threads;
    let handles: Vec<_> = (0..threads)
        .map(|id| {
            let cache = Arc::clone(&cache);
            thread::spawn(move || client(&cache, id, keys, ops))
        })
        .collect();
    let mut sum = 0u64;
    for h in handles {
        sum = sum.wrapping_add(h.join().unwrap());
    }
    println!(
        "ops {} hits {} misses {} updates {} checksum {:016x}",
        ops * threads,
        cache.meter.hits.load(Ordering::Relaxed),
        cache.meter.misses.load(Ordering::Relaxed),
        cache.meter.updates.load(Ordering::Relaxed),
        sum ^ cache.digest()
    );
}
