// SPDX-License-Identifier: Apache-2.0
// label: component = shared, written
// Why: 8 MB of labels, set up by the main thread; all threads read and lower labels at random vertices.
// action: component = spread
// harm: component = copy | local
// label: edges = serial first touch
// Why: The list of edges (40 MB) comes from one sequential generator, as from a file; in every round each thread
// reads the same fixed part of it (in order, so the random labels cost more than the edges).
// action: edges = local | spread | none
// harm: edges = copy | parallelise the existing loop
// Connected components of a random graph by hooking to the lower label, and shortcuts.
//   usage: components [threads] [vertices] [edges]
use std::env;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
}

struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545F4914F6CDD1D)
    }
    fn below(&mut self, limit: usize) -> u32 {
        ((self.next() >> 32) * limit as u64 >> 32) as u32
    }
}

fn read_edges(vertices: usize, count: usize) -> Vec<Edge> {
    let mut generator = Generator(88172645463325252);
    let mut edges = Vec::with_capacity(count);
    for _ in 0..count {
        edges.push(Edge { from: generator.below(vertices), to: generator.below(vertices) });
    }
    edges
}

/// Lowers the labels at both ends of each edge to the lower one; returns how many were lowered.
fn hook(edges: &[Edge], component: &[AtomicU32]) -> usize {
    let mut lowered = 0;
    for edge in edges {
        let a = component[edge.from as usize].load(Relaxed);
        let b = component[edge.to as usize].load(Relaxed);
        if a < b {
            component[edge.to as usize].fetch_min(a, Relaxed);
            component[b as usize].fetch_min(a, Relaxed);
            lowered += 1;
        } else if b < a {
            component[edge.from as usize].fetch_min(b, Relaxed);
            component[a as usize].fetch_min(b, Relaxed);
            lowered += 1;
        }
    }
    lowered
}

/// Every vertex of a part takes the label of its label.
fn shortcut(first: usize, last: usize, component: &[AtomicU32]) {
    for vertex in first..last {
        let parent = component[vertex].load(Relaxed);
        let grand = component[parent as usize].load(Relaxed);
        if grand < parent {
            component[vertex].fetch_min(grand, Relaxed);
        }
    }
}

fn part(n: usize, t: usize, threads: usize) -> (usize, usize) {
    (n * t / threads, n * (t + 1) / threads)
}

fn main() {
    let arguments: Vec<usize> = env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    let threads = arguments.first().copied().unwrap_or(4);
    let vertices = arguments.get(1).copied().unwrap_or(2_000_000);
    let count = arguments.get(2).copied().unwrap_or(5_000_000);

    let edges = read_edges(vertices, count);
    let component: Vec<AtomicU32> = (0..vertices as u32).map(AtomicU32::new).collect();

    let mut rounds = 0;
    loop {
        let lowered: usize = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|t| {
                    let (first, last) = part(count, t, threads);
                    let (edges, component) = (&edges[first..last], &component[..]);
                    scope.spawn(move || hook(edges, component))
                })
                .collect();
            workers.into_iter().map(|w| w.join().unwrap()).sum()
        });
        rounds += 1;
        if lowered == 0 {
            break;
        }
        thread::scope(|scope| {
            for t in 0..threads {
                let (first, last) = part(vertices, t, threads);
                let component = &component[..];
                scope.spawn(move || shortcut(first, last, component));
            }
        });
    }
    let roots = (0..vertices).filter(|&v| component[v].load(Relaxed) == v as u32).count();
    let sum: u64 = component.iter().map(|c| c.load(Relaxed) as u64).sum();
    eprintln!("{rounds} rounds");
    println!("{roots} components, checksum {sum}");
}
