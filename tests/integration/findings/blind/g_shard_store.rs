// SPDX-License-Identifier: Apache-2.0
// A store with two shards: each shard's thread owns a table that it made itself, and main sends it
// requests by a channel, one vector for each batch. Nothing large is shared.
// label: table = partitioned
// Why: the shard's thread allocates, fills and uses it.
// action: table = none
// label: run = no NUMA problem
// Why: the batches are small and new; the rest belongs to one thread each.
// action: run = none
use std::sync::mpsc::{channel, Receiver};
use std::thread;

const SHARDS: usize = 2;
const SLOTS: usize = 1 << 19;
const BATCHES: usize = 40;
const BATCH: usize = 512;
const PROBES: u64 = 16;

struct Shard {
    table: Vec<u64>,
    found: u64,
}

impl Shard {
    fn new(shard: usize) -> Self {
        let mut table = Vec::with_capacity(SLOTS);
        for slot in 0..SLOTS {
            table.push((slot * SHARDS + shard) as u64);
        }
        Shard { table, found: 0 }
    }

    fn serve(&mut self, key: u64) {
        // A walk through the table, as that of a chain of versions.
        let mut at = key;
        for _ in 0..PROBES {
            at = at.wrapping_mul(0x9e3779b97f4a7c15).rotate_left(23);
            let slot = (at % SLOTS as u64) as usize;
            self.found = self.found.wrapping_add(self.table[slot]);
            self.table[slot] += 1;
        }
    }
}

fn run(shard: usize, requests: Receiver<Vec<u64>>) -> u64 {
    let mut store = Shard::new(shard);
    for batch in requests {
        for key in batch {
            store.serve(key);
        }
    }
    store.found
}

fn main() {
    let mut senders = Vec::new();
    let mut threads = Vec::new();
    for shard in 0..SHARDS {
        let (sender, requests) = channel();
        senders.push(sender);
        threads.push(thread::spawn(move || run(shard, requests)));
    }
    let mut key = 1u64;
    for batch in 0..BATCHES * SHARDS {
        let mut keys = Vec::with_capacity(BATCH);
        for _ in 0..BATCH {
            key = key
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            keys.push(key >> 16);
        }
        senders[batch % SHARDS].send(keys).expect("a shard serves");
    }
    drop(senders);
    let found: u64 = threads
        .into_iter()
        .map(|shard| shard.join().expect("no panic"))
        .fold(0, u64::wrapping_add);
    println!("found {found}");
}
