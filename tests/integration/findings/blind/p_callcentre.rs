// SPDX-License-Identifier: Apache-2.0
// Each thread simulates in memory of its own. Nothing is wrong.
// label: run = no NUMA problem
// action: run = none
// minor: log = partitioned
// action: log = none
// harm: log = spread
// minor: agenda = cache-resident | partitioned
// action: agenda = none
// minor: waiting = cache-resident | partitioned
// action: waiting = none
// minor: rate = cache-resident | shared, read-mostly
// action: rate = none
// minor: next = true sharing of cache lines
// action: next = none
// minor: results = true sharing of cache lines
// action: results = none
// Discrete-event simulation of a call centre with impatient callers;
// independent replications are shared out among threads.
use std::cmp::Ordering as Cmp;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

const AGENTS: usize = 45;
const CALLERS: usize = 60_000;
const REPLICATIONS: usize = 64;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Arrival,
    Done,
    GiveUp,
}

#[derive(Clone, Copy, PartialEq)]
struct Event {
    time: f64,
    kind: Kind,
    caller: u32,
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Cmp> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Cmp {
        other.time.total_cmp(&self.time).then(other.caller.cmp(&self.caller))
    }
}

#[derive(Clone, Copy, Default)]
struct Caller {
    arrived: f64,
    started: f64,
    left: f64,
    gave_up: bool,
}

struct Profile {
    rate: Vec<f64>, // calls per minute, by quarter of an hour
}

struct Centre<'a> {
    profile: &'a Profile,
    seed: u64,
    busy: usize,
    agenda: BinaryHeap<Event>,
    waiting: VecDeque<u32>,
    log: Vec<Caller>,
}

impl<'a> Centre<'a> {
    fn new(profile: &'a Profile) -> Self {
        Centre {
            profile,
            seed: 1,
            busy: 0,
            agenda: BinaryHeap::new(),
            waiting: VecDeque::new(),
            log: Vec::with_capacity(CALLERS),
        }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let u = ((self.seed >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        -mean * u.ln()
    }

    fn schedule(&mut self, time: f64, kind: Kind, caller: u32) {
        self.agenda.push(Event { time, kind, caller });
    }

    fn serve(&mut self, now: f64, c: u32) {
        self.busy += 1;
        self.log[c as usize].started = now;
        let d = self.exponential(4.0);
        self.schedule(now + d, Kind::Done, c);
    }

    /// Returns mean wait and the fraction of callers who gave up.
    fn run(&mut self, seed: u64) -> (f64, f64) {
        self.seed = seed;
        self.busy = 0;
        self.agenda.clear();
        self.waiting.clear();
        self.log.clear();
        self.schedule(0.0, Kind::Arrival, 0);
        while let Some(e) = self.agenda.pop() {
            let c = e.caller as usize;
            match e.kind {
                Kind::Arrival => {
                    self.log.push(Caller { arrived: e.time, ..Default::default() });
                    if self.busy < AGENTS {
                        self.serve(e.time, e.caller);
                    } else {
                        self.waiting.push_back(e.caller);
                        let patience = self.exponential(2.5);
                        self.schedule(e.time + patience, Kind::GiveUp, e.caller);
                    }
                    if c + 1 < CALLERS {
                        let slot = (e.time / 15.0) as usize % self.profile.rate.len();
                        let gap = self.exponential(1.0 / self.profile.rate[slot]);
                        self.schedule(e.time + gap, Kind::Arrival, e.caller + 1);
                    }
                }
                Kind::Done => {
                    self.log[c].left = e.time;
                    self.busy -= 1;
                    while let Some(w) = self.waiting.pop_front() {
                        if !self.log[w as usize].gave_up {
                            self.serve(e.time, w);
                            break;
                        }
                    }
                }
                Kind::GiveUp => {
                    let caller = &mut self.log[c];
                    if caller.started == 0.0 {
                        caller.gave_up = true;
                        caller.left = e.time;
                    }
                }
            }
        }
        let lost = self.log.iter().filter(|c| c.gave_up).count();
        let wait: f64 = self
            .log
            .iter()
            .map(|c| if c.gave_up { c.left } else { c.started } - c.arrived)
            .sum();
        (wait / CALLERS as f64, lost as f64 / CALLERS as f64)
    }
}

fn main() {
    let threads: usize = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(4);
    let profile = Profile {
        rate: (0..96).map(|q| 9.0 + 4.0 * (q as f64 * 0.13).sin()).collect(),
    };
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![(0.0, 0.0); REPLICATIONS]);

    thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                let mut centre = Centre::new(&profile);
                loop {
                    let r = next.fetch_add(1, Ordering::Relaxed);
                    if r >= REPLICATIONS {
                        break;
                    }
                    let outcome = centre.run(1000 + r as u64);
                    results.lock().unwrap()[r] = outcome;
                }
            });
        }
    });

    let results = results.into_inner().unwrap();
    let wait: f64 = results.iter().map(|r| r.0).sum::<f64>() / REPLICATIONS as f64;
    let lost: f64 = results.iter().map(|r| r.1).sum::<f64>() / REPLICATIONS as f64;
    println!("callcentre: mean wait {wait:.6}, lost {lost:.6}");
}
