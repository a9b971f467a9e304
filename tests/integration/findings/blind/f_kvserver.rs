// SPDX-License-Identifier: Apache-2.0
// A key-value server: the main thread dispatches batches of requests to three workers that own a shard each.
// std::thread and bounded channels (main is the fourth thread); a worker makes its own table.
// label: table = partitioned
// Why: a worker allocates, fills and looks up its own shard, and no other thread uses it.
// label: batch = producer and consumer
// Why: main writes each batch of requests, and the worker that gets it reads it once.
// action: batch = none
use std::sync::mpsc::{sync_channel, Receiver};
use std::thread;

const WORKERS: usize = 3;
const BATCH: usize = 4096;
const BATCHES: usize = 100;
const SLOTS: usize = 1 << 17;
const KEYS_PER_SHARD: u64 = 60_000;

#[derive(Clone, Copy)]
enum Operation {
    Get,
    Add(u64),
}

#[derive(Clone, Copy)]
struct Request {
    key: u64,
    operation: Operation,
}

#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    value: u64,
}

/// One worker's part of the store: open addressing; key 0 is free.
struct Shard {
    table: Vec<Slot>,
}

impl Shard {
    fn new() -> Self {
        let mut table = Vec::with_capacity(SLOTS);
        for _ in 0..SLOTS {
            table.push(Slot { key: 0, value: 0 });
        }
        Shard { table }
    }

    fn slot(&mut self, key: u64) -> &mut Slot {
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % SLOTS;
        while self.table[at].key != key && self.table[at].key != 0 {
            at = (at + 1) % SLOTS;
        }
        &mut self.table[at]
    }

    /// Answers a request with the value before it.
    fn serve(&mut self, request: Request) -> u64 {
        let slot = self.slot(request.key);
        let before = slot.value;
        if let Operation::Add(amount) = request.operation {
            slot.key = request.key;
            slot.value = before + amount;
        }
        before
    }

    fn sum(&self) -> u64 {
        self.table.iter().map(|slot| slot.value).sum()
    }
}

fn work(requests: Receiver<Vec<Request>>) -> (u64, u64) {
    let mut shard = Shard::new();
    let mut answers = 0u64;
    while let Ok(batch) = requests.recv() {
        for &request in &batch {
            answers = answers.wrapping_add(shard.serve(request));
        }
    }
    (shard.sum(), answers)
}

/// A batch for one shard; returns also what it adds to the store.
fn next_batch(state: &mut u64, worker: usize) -> (Vec<Request>, u64) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut added = 0;
    for i in 0..BATCH {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        let key = (*state >> 20) % KEYS_PER_SHARD * WORKERS as u64 + worker as u64 + 1;
        let operation = if i % 4 == 3 {
            added += *state & 0xff;
            Operation::Add(*state & 0xff)
        } else {
            Operation::Get
        };
        batch.push(Request { key, operation });
    }
    (batch, added)
}

fn main() {
    let mut channels = Vec::new();
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let (sender, receiver) = sync_channel::<Vec<Request>>(4);
        channels.push(sender);
        workers.push(thread::spawn(move || work(receiver)));
    }
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut added = 0;
    for number in 0..BATCHES * WORKERS {
        let worker = number % WORKERS;
        let (batch, amount) = next_batch(&mut state, worker);
        added += amount;
        channels[worker].send(batch).expect("a worker has ended");
    }
    drop(channels);
    let mut stored = 0;
    let mut answers = 0u64;
    for worker in workers {
        let (sum, answered) = worker.join().expect("a worker has failed");
        stored += sum;
        answers = answers.wrapping_add(answered);
    }
    println!("added {added}, stored {stored}, answers {answers}");
    assert_eq!(added, stored);
}
