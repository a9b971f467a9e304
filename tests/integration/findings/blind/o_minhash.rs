// SPDX-License-Identifier: Apache-2.0
// Threads make signatures of their own documents, and send keys once to the threads that sort
// them. Nothing is wrong.
// label: run = no NUMA problem
// action: run = none
// label: sigs = partitioned
// action: sigs = none
// harm: sigs = spread
// label: keys = partitioned
// action: keys = none
// minhash - near duplicate detection: min-hash signatures, LSH banding, candidate check.
//   minhash [threads]
// Workers own the documents they read; band keys go to the owner of the bucket by channel.
use std::collections::HashMap;
use std::env;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;

const DOCS: u32 = 24_000;
const SHINGLES: usize = 100;
const SIG: usize = 48;
const BANDS: usize = 12;
const ROWS: usize = SIG / BANDS;

type Signature = [u32; SIG];

/// One band of a document: bucket key and document number.
type Key = (u64, u32);

fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Shingle hashes of a document; every eighth one is a light edit of an earlier document.
fn read_doc(d: u32, out: &mut Vec<u64>) {
    out.clear();
    let copy = d % 8 == 7;
    let base = if copy { (mix(d as u64) % d as u64) as u32 / 8 * 8 } else { d };
    for k in 0..SHINGLES {
        let edit = copy && mix((d as u64) << 20 | k as u64) % 100 < 6;
        let from = if edit { d } else { base };
        out.push(mix((from as u64) << 32 | k as u64));
    }
}

fn signature(shingles: &[u64]) -> Signature {
    let mut sig = [u32::MAX; SIG];
    for &s in shingles {
        let (a, b) = (s as u32, (s >> 32) as u32 | 1);
        for (k, m) in sig.iter_mut().enumerate() {
            let h = a.wrapping_add(b.wrapping_mul(k as u32 + 1)).wrapping_mul(0x9E37_79B1);
            *m = (*m).min(h ^ (h >> 16));
        }
    }
    sig
}

struct Shard {
    sigs: Vec<Signature>, // documents first.. of this worker
    first: u32,
}

fn sign_and_send(first: u32, last: u32, to: &[Sender<Vec<Key>>]) -> Shard {
    let mut sigs = Vec::with_capacity((last - first) as usize);
    let mut outbox: Vec<Vec<Key>> = to.iter().map(|_| Vec::new()).collect();
    let mut shingles = Vec::with_capacity(SHINGLES);
    for d in first..last {
        read_doc(d, &mut shingles);
        let sig = signature(&shingles);
        for b in 0..BANDS {
            let key = sig[b * ROWS..(b + 1) * ROWS]
                .iter()
                .fold(b as u64, |k, &m| mix(k.rotate_left(17) ^ m as u64));
            let dest = (key >> 40) as usize % to.len();
            outbox[dest].push((key, d));
        }
        sigs.push(sig);
    }
    for (batch, tx) in outbox.into_iter().zip(to) {
        tx.send(batch).expect("receiver is alive");
    }
    Shard { sigs, first }
}

fn collide(inbox: Receiver<Vec<Key>>) -> Vec<(u32, u32)> {
    let mut keys: Vec<Key> = Vec::new();
    for batch in inbox {
        keys.extend(batch);
    }
    let mut buckets: HashMap<u64, Vec<u32>> = HashMap::new();
    keys.sort_unstable();
    for run in keys.chunk_by(|a, b| a.0 == b.0) {
        if run.len() > 1 {
            buckets.entry(run[0].0).or_default().extend(run.iter().map(|k| k.1));
        }
    }
    let mut pairs = Vec::new();
    for docs in buckets.values() {
        for i in 0..docs.len() {
            for j in i + 1..docs.len() {
                pairs.push((docs[i], docs[j]));
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn main() {
    let n: usize = env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(4);

    let (tx, rx): (Vec<_>, Vec<_>) = (0..n).map(|_| channel::<Vec<Key>>()).unzip();
    let mut workers = Vec::new();
    for (w, inbox) in rx.into_iter().enumerate() {
        let to = tx.clone();
        workers.push(thread::spawn(move || {
            let first = (DOCS as u64 * w as u64 / n as u64) as u32;
            let last = (DOCS as u64 * (w as u64 + 1) / n as u64) as u32;
            let shard = sign_and_send(first, last, &to);
            drop(to); // lets the inboxes end
            (shard, collide(inbox))
        }));
    }
    drop(tx);

    let mut shards = Vec::new();
    let mut pairs = Vec::new();
    for w in workers {
        let (shard, p) = w.join().unwrap();
        shards.push(shard);
        pairs.extend(p);
    }
    pairs.sort_unstable();
    pairs.dedup();

    // the few candidates are verified here
    let sig = |d: u32| {
        let s = shards.iter().rev().find(|s| s.first <= d).unwrap();
        &s.sigs[(d - s.first) as usize]
    };
    let (mut similar, mut digest) = (0u32, 0u64);
    for &(a, b) in &pairs {
        let same = sig(a).iter().zip(sig(b)).filter(|(x, y)| x == y).count();
        if same * 10 >= SIG * 8 {
            similar += 1;
            digest = digest.wrapping_add(mix((a as u64) << 32 | b as u64));
        }
    }
    println!("documents {} candidates {} similar {} digest {:016x}", DOCS, pairs.len(), similar, digest);
}
