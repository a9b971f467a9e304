// SPDX-License-Identifier: Apache-2.0
// Each thread creates and owns its processes, and sends events to other threads.
// label: run = no NUMA problem
// action: run = none
// label: lps = partitioned
// action: lps = none
// harm: lps = spread
// label: heap = partitioned
// action: heap = none
// label: route = cache-resident
// action: route = none | copy
// Conservative event simulation: logical processes owned by threads, windows
// of fixed lookahead, mailboxes between threads.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::env;
use std::sync::{Barrier, Mutex};
use std::thread;

const LPS: usize = 1024; // per thread
const WINDOWS: u64 = 300;
const LOOKAHEAD: u64 = 64;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: u64,
    dest: u32,
    load: u32,
}

struct Lp {
    heap: BinaryHeap<Reverse<Event>>,
    rng: u64,
    state: [u64; 96],
}

impl Lp {
    fn new(id: u64) -> Lp {
        let mut lp = Lp {
            heap: BinaryHeap::with_capacity(32),
            rng: id.wrapping_mul(0x9E3779B97F4A7C15) | 1,
            state: [0; 96],
        };
        for k in 0..8 {
            lp.heap.push(Reverse(Event { time: (id * 7 + k * 13) % 128, dest: id as u32, load: k as u32 }));
        }
        for (i, s) in lp.state.iter_mut().enumerate() {
            *s = id + i as u64;
        }
        lp
    }
    fn next(&mut self) -> u64 {
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        self.rng
    }
}

fn run(me: usize, nt: usize, mail: &[Mutex<Vec<Event>>], route: &[u32], bar: &Barrier) -> (u64, u64) {
    let mut lps: Vec<Lp> = (0..LPS).map(|i| Lp::new((me * LPS + i) as u64)).collect();
    let base = me * LPS;
    let mut done = 0u64;
    for w in 0..WINDOWS {
        let horizon = (w + 1) * LOOKAHEAD;
        let inbox = std::mem::take(&mut *mail[me].lock().unwrap());
        for e in inbox {
            lps[e.dest as usize - base].heap.push(Reverse(e));
        }
        bar.wait();
        for i in 0..LPS {
            while let Some(&Reverse(e)) = lps[i].heap.peek() {
                if e.time >= horizon {
                    break;
                }
                lps[i].heap.pop();
                done += 1;
                let lp = &mut lps[i];
                let r = lp.next();
                let at = (r % 88) as usize;
                for k in 0..8 {
                    lp.state[at + k] = lp.state[at + k].wrapping_mul(31).wrapping_add(e.time ^ e.load as u64);
                }
                let time = e.time + LOOKAHEAD + (r >> 20) % 40;
                let dest = if (r >> 40) % 10 == 0 {
                    route[(base + i) * 16 + ((r >> 50) & 15) as usize]
                } else {
                    (base + (i + (r >> 44) as usize) % LPS) as u32
                };
                let ev = Event { time, dest, load: (r >> 32) as u32 & 255 };
                let owner = dest as usize / LPS;
                if owner == me {
                    lps[dest as usize - base].heap.push(Reverse(ev));
                } else {
                    mail[owner].lock().unwrap().push(ev);
                }
            }
        }
        bar.wait();
    }
    let _ = nt;
    let count: u64 = lps.iter().map(|l| l.heap.len() as u64).sum();
    (done, count + mail[me].lock().unwrap().len() as u64)
}

fn main() {
    let nt: usize = env::args()
        .nth(1)
        .or_else(|| env::var("OMP_NUM_THREADS").ok())
        .and_then(|s| s.parse().ok())
        .unwrap_or(4);
    let n = nt * LPS;
    let route: Vec<u32> = (0..n * 16).map(|i| ((i * 7919 + i / 16 * 31) % n) as u32).collect();
    let mail: Vec<Mutex<Vec<Event>>> = (0..nt).map(|_| Mutex::new(Vec::new())).collect();
    let bar = Barrier::new(nt);
    let res: Vec<(u64, u64)> = thread::scope(|s| {
        let hs: Vec<_> = (0..nt)
            .map(|t| {
                let (mail, route, bar) = (&mail, &route, &bar);
                s.spawn(move || run(t, nt, mail, route, bar))
            })
            .collect();
        hs.into_iter().map(|h| h.join().unwrap()).collect()
    });
    let events: u64 = res.iter().map(|r| r.0).sum();
    let pending: u64 = res.iter().map(|r| r.1).sum();
    println!("events {} pending {}", events, pending);
}
