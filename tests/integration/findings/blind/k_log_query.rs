// SPDX-License-Identifier: Apache-2.0
// Queries on a web server's log. The main thread produces the text (in place of reading a file) into
// one vector. Each query divides the text at line ends among scoped threads, with the same division
// each time; each thread has its own small counters on its stack. So each part of the text belongs to
// one thread, but all pages are on the node of the main thread.
// label: text = serial first touch
// action: text = local
// harm: text = copy
use std::thread;

const LINES: usize = 1_200_000;
const SERVICES: usize = 16;

#[derive(Clone, Copy, PartialEq)]
enum Query {
    Errors,
    Latency,
    Bytes,
    Lengths,
}

fn produce() -> Vec<u8> {
    let mut text = Vec::with_capacity(LINES * 64);
    let mut state = 88172645463325252u64;
    for line in 0..LINES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let status = if state % 19 == 0 { 500 } else { 200 };
        let service = (state >> 20) % SERVICES as u64;
        let latency = (state >> 30) % 900 + 100;
        let bytes = (state >> 40) % 90000 + 10000;
        text.extend_from_slice(b"2026-11-27T06:00:00Z svc=");
        number(&mut text, service, 2);
        text.extend_from_slice(b" status=");
        number(&mut text, status, 3);
        text.extend_from_slice(b" ms=");
        number(&mut text, latency, 4);
        text.extend_from_slice(b" bytes=");
        number(&mut text, bytes + (line as u64 & 1), 6);
        text.push(b'\n');
    }
    text
}

fn number(text: &mut Vec<u8>, value: u64, digits: u32) {
    for d in (0..digits).rev() {
        text.push(b'0' + (value / 10u64.pow(d) % 10) as u8);
    }
}

fn field(line: &[u8], at: usize, digits: usize) -> u64 {
    line[at..at + digits].iter().fold(0, |v, &c| v * 10 + (c - b'0') as u64)
}

fn scan(part: &[u8], query: Query) -> [u64; SERVICES] {
    let mut sums = [0u64; SERVICES];
    for line in part.split(|&c| c == b'\n') {
        if line.is_empty() {
            continue;
        }
        let service = field(line, 25, 2) as usize;
        sums[service] += match query {
            Query::Errors => (field(line, 35, 3) >= 500) as u64,
            Query::Latency => field(line, 42, 4),
            Query::Bytes => field(line, 53, 6),
            Query::Lengths => line.len() as u64,
        };
    }
    sums
}

fn main() {
    let threads: usize = std::env::args().nth(1).map_or(4, |a| a.parse().expect("a number"));
    let text = produce();
    let mut cuts = vec![0];
    for t in 1..threads {
        let from = text.len() * t / threads;
        let end = text[from..].iter().position(|&c| c == b'\n').expect("a line end");
        cuts.push(from + end + 1);
    }
    cuts.push(text.len());
    for query in [Query::Errors, Query::Latency, Query::Bytes, Query::Lengths] {
        let sums = thread::scope(|scope| {
            let workers: Vec<_> = cuts
                .windows(2)
                .map(|cut| {
                    let part = &text[cut[0]..cut[1]];
                    scope.spawn(move || scan(part, query))
                })
                .collect();
            let mut all = [0u64; SERVICES];
            for worker in workers {
                for (sum, one) in all.iter_mut().zip(worker.join().expect("a result")) {
                    *sum += one;
                }
            }
            all
        });
        println!("{} {} {}", sums[0], sums[SERVICES - 1], sums.iter().sum::<u64>());
    }
}
