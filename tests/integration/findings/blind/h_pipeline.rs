// SPDX-License-Identifier: Apache-2.0
// label: slots = shared, written
// Why: 4 MB hash table, filled with u64::MAX by main, then probed and updated at random by all
// packers for each chunk.
// action: slots = spread
// harm: slots = local | copy
// label: data = producer and consumer
// Why: 48 blocks of 64 KB are written by the reader again and again and each time read by some
// packer; the pages are placed by the reader (main allocates with vec![0; n]).
// action: data = local | none
// label: bytes = producer and consumer
// Why: Each packed block is written by a packer and read once by the writer (main).
// action: bytes = local | none
// Backup pipeline: a reader fills blocks, a pool of packers looks every chunk
// up in the global fingerprint table and run-length packs the new ones, a
// writer checks the results.  Input blocks are recycled.
//   usage: pipeline [blocks] [packers]
use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread;

const BLOCK: usize = 64 * 1024;
const CHUNK: usize = 32;
const POOL: usize = 48;
const SLOTS: usize = 1 << 19;

struct Block {
    seq: usize,
    data: Vec<u8>,
}

struct Packed {
    seq: usize,
    bytes: Vec<u8>,
    duplicates: usize,
    check: u64,
}

struct Fingerprints {
    slots: Vec<AtomicU64>,
}

impl Fingerprints {
    fn new() -> Self {
        Fingerprints { slots: (0..SLOTS).map(|_| AtomicU64::new(u64::MAX)).collect() }
    }

    /// true if the fingerprint was there already
    fn seen(&self, fp: u64) -> bool {
        let mut i = (fp >> 20) as usize % SLOTS;
        for _ in 0..8 {
            let cur = self.slots[i].load(Ordering::Relaxed);
            if cur == fp {
                return true;
            }
            if cur == u64::MAX {
                match self.slots[i].compare_exchange(cur, fp, Ordering::AcqRel, Ordering::Relaxed) {
                    Ok(_) => return false,
                    Err(other) if other == fp => return true,
                    Err(_) => {}
                }
            }
            i = (i + 1) % SLOTS;
        }
        false
    }
}

fn fingerprint(c: &[u8]) -> u64 {
    let mut h = 0xcbf29ce484222325u64;
    for b in c {
        h = (h ^ *b as u64).wrapping_mul(0x100000001b3);
    }
    (h ^ (h >> 29)).wrapping_mul(0x9E3779B97F4A7C15)
}

fn read_block(b: &mut Block, seq: usize) {
    b.seq = seq;
    let mut x = (seq as u64 % 150 + 1).wrapping_mul(0x2545F4914F6CDD1D);
    for piece in b.data.chunks_mut(8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let run = if x & 3 == 0 { [x as u8; 8] } else { x.to_le_bytes() };
        piece.copy_from_slice(&run[..piece.len()]);
    }
}

fn pack(b: &Block, table: &Fingerprints) -> Packed {
    let mut bytes = Vec::with_capacity(BLOCK + BLOCK / 4);
    let (mut duplicates, mut check) = (0, 0u64);
    for c in b.data.chunks(CHUNK) {
        let fp = fingerprint(c);
        check = check.wrapping_add(fp);
        if table.seen(fp) {
            duplicates += 1;
            bytes.push(0);
            bytes.extend_from_slice(&fp.to_le_bytes());
            continue;
        }
        bytes.push(1);
        let mut i = 0;
        while i < c.len() {
            let mut n = 1;
            while i + n < c.len() && c[i + n] == c[i] {
                n += 1;
            }
            if n > 2 {
                bytes.extend_from_slice(&[0xff, n as u8]);
            }
            bytes.push(c[i]);
            i += if n > 2 { n } else { 1 };
        }
    }
    Packed { seq: b.seq, bytes, duplicates, check }
}

fn packer(jobs: Arc<Mutex<Receiver<Block>>>, free: Sender<Block>, out: SyncSender<Packed>,
          table: Arc<Fingerprints>) {
    loop {
        let job = jobs.lock().unwrap().recv();
        let Ok(block) = job else { return };
        out.send(pack(&block, &table)).unwrap();
        let _ = free.send(block);
    }
}

fn main() {
    let mut args = env::args().skip(1);
    let blocks: usize = args.next().map_or(240, |s| s.parse().unwrap());
    let packers: usize = args.next().map_or(4, |s| s.parse().unwrap());

    let table = Arc::new(Fingerprints::new());
    let (job_tx, job_rx) = channel();
    let (free_tx, free_rx) = channel();
    let (out_tx, out_rx) = sync_channel::<Packed>(32);
    let job_rx = Arc::new(Mutex::new(job_rx));
    for _ in 0..POOL {
        free_tx.send(Block { seq: 0, data: vec![0; BLOCK] }).unwrap();
    }

    let mut handles = Vec::new();
    for _ in 0..packers {
        let (jobs, free, out, t) = (job_rx.clone(), free_tx.clone(), out_tx.clone(), table.clone());
        handles.push(thread::spawn(move || packer(jobs, free, out, t)));
    }
    drop(out_tx);
    let reader = thread::spawn(move || {
        for seq in 0..blocks {
            let mut b = free_rx.recv().unwrap();
            read_block(&mut b, seq);
            job_tx.send(b).unwrap();
        }
    });

    let (mut written, mut histogram) = (0usize, [0u32; 256]);
    let (mut dup, mut check) = (0usize, 0u64);
    for p in out_rx {
        for b in &p.bytes {
            histogram[*b as usize] += 1;
        }
        written += p.bytes.len();
        dup += p.duplicates;
        check ^= p.check.wrapping_mul(2 * p.seq as u64 + 1);
    }
    reader.join().unwrap();
    for h in handles {
        h.join().unwrap();
    }
    let markers = histogram[0xff];
    eprintln!("written {} duplicates {} markers {}", written, dup, markers);
    println!("blocks {} checksum {:016x}", blocks, check);
}
