// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: Shared-nothing: each worker allocates, fills and scans its own partition in its own
// persistent thread.
// action: run = none
// Labels of what needs no action, added after the first look:
// label: qty = partitioned
// Why: Each worker loads and scans its own part.
// action: qty = none
// harm: qty = spread
// label: price = partitioned
// Why: As qty.
// action: price = none
// harm: price = spread
// label: region = partitioned
// Why: As qty.
// action: region = none
// harm: region = spread
// Shared-nothing column store: every worker owns one partition of the table,
// builds it itself and answers the scan requests that it is sent.
//   usage: colscan [rows] [workers]
use std::collections::BTreeMap;
use std::env;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;

#[derive(Clone, Debug)]
enum Request {
    SumWhere { min_qty: u32, max_qty: u32 },
    GroupByRegion { above: f64 },
    Stop,
}

#[derive(Debug, Default)]
struct Partial {
    rows: u64,
    sum: f64,
    groups: BTreeMap<u8, f64>,
}

struct Partition {
    qty: Vec<u32>,
    price: Vec<f64>,
    region: Vec<u8>,
}

struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

impl Partition {
    fn load(id: usize, rows: usize) -> Partition {
        let mut rng = Rng(0x9E3779B97F4A7C15 ^ (id as u64 + 1) * 7777);
        let mut p = Partition {
            qty: Vec::with_capacity(rows),
            price: Vec::with_capacity(rows),
            region: Vec::with_capacity(rows),
        };
        for _ in 0..rows {
            let r = rng.next();
            p.qty.push((r % 100) as u32);
            p.price.push(((r >> 20) % 100_000) as f64 / 100.0);
            p.region.push(((r >> 40) % 12) as u8);
        }
        p
    }

    fn answer(&self, req: &Request) -> Partial {
        let mut out = Partial::default();
        match *req {
            Request::SumWhere { min_qty, max_qty } => {
                for (q, p) in self.qty.iter().zip(&self.price) {
                    if *q >= min_qty && *q < max_qty {
                        out.rows += 1;
                        out.sum += p * *q as f64;
                    }
                }
            }
            Request::GroupByRegion { above } => {
                let mut sums = [0.0f64; 12];
                for (r, p) in self.region.iter().zip(&self.price) {
                    if *p > above {
                        out.rows += 1;
                        sums[*r as usize] += p;
                    }
                }
                for (r, s) in sums.iter().enumerate() {
                    out.groups.insert(r as u8, *s);
                }
            }
            Request::Stop => {}
        }
        out
    }
}

fn worker(id: usize, rows: usize, inbox: Receiver<Request>, outbox: Sender<Partial>) {
    let part = Partition::load(id, rows);
    while let Ok(req) = inbox.recv() {
        if let Request::Stop = req {
            break;
        }
        outbox.send(part.answer(&req)).unwrap();
    }
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let rows: usize = args.get(1).map_or(1_600_000, |s| s.parse().unwrap());
    let workers: usize = args.get(2).map_or(4, |s| s.parse().unwrap());

    let (out_tx, out_rx) = channel();
    let mut inboxes = Vec::new();
    let mut handles = Vec::new();
    for id in 0..workers {
        let (tx, rx) = channel();
        let out = out_tx.clone();
        inboxes.push(tx);
        handles.push(thread::spawn(move || worker(id, rows / workers, rx, out)));
    }

    let mut check = 0.0;
    let mut total_rows = 0;
    for round in 0..20u32 {
        let req = if round % 2 == 0 {
            Request::SumWhere { min_qty: round * 3, max_qty: round * 3 + 30 }
        } else {
            Request::GroupByRegion { above: 100.0 * round as f64 / 4.0 }
        };
        for ib in &inboxes {
            ib.send(req.clone()).unwrap();
        }
        for _ in 0..workers {
            let p = out_rx.recv().unwrap();
            total_rows += p.rows;
            check += p.sum + p.groups.values().sum::<f64>();
        }
    }
    for ib in &inboxes {
        ib.send(Request::Stop).unwrap();
    }
    for h in handles {
        h.join().unwrap();
    }
    println!("rows {} matched {} checksum {:.2}", rows, total_rows, check);
}
