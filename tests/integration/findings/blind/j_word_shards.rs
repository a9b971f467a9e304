// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: Each thread makes the text of its own shard, and counts words in its own map. The main thread only merges
// a few thousand counts of each shard at the end.
// action: run = none
// harm: text = spread | copy | divide
// harm: counts = spread | copy | divide
// harm: run = balance
// label: text = partitioned
// Words of a corpus in shards: each thread has a shard, counts words and pairs of words, and filters.
//   usage: word_shards [threads] [bytes of a shard]
use std::collections::HashMap;
use std::env;
use std::thread;

const SYLLABLES: [&str; 16] = [
    "ka", "lo", "mi", "ru", "ten", "sa", "vor", "ne", "pi", "du", "gra", "sto", "el", "qui", "ba", "zon",
];

struct Generator(u64);

impl Generator {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

#[derive(Default)]
struct Summary {
    words: HashMap<String, u32>,
    pairs: usize,
    longest: usize,
    total: u64,
}

/// The text of a shard. Small numbers, and thus short words, are the most common.
fn write_shard(number: u64, bytes: usize) -> String {
    let mut generator = Generator(number * 7919 + 1);
    let mut text = String::with_capacity(bytes + 64);
    while text.len() < bytes {
        let limit = 1 + generator.below(16) * generator.below(16) * generator.below(16);
        let mut word = generator.below(limit);
        loop {
            text.push_str(SYLLABLES[(word % 16) as usize]);
            word /= 16;
            if word == 0 {
                break;
            }
        }
        text.push(if generator.below(12) == 0 { '\n' } else { ' ' });
    }
    text
}

fn count_words(text: &str) -> HashMap<&str, u32> {
    let mut counts = HashMap::new();
    for word in text.split_ascii_whitespace() {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn count_pairs(text: &str) -> HashMap<(u16, u16), u32> {
    let mut pairs = HashMap::new();
    for line in text.lines() {
        let mut before = 0;
        for word in line.split(' ') {
            let code = word.bytes().fold(7u16, |code, byte| code.wrapping_mul(31).wrapping_add(byte as u16)) % 512;
            *pairs.entry((before, code)).or_insert(0) += 1;
            before = code;
        }
    }
    pairs
}

fn summarise(number: u64, bytes: usize) -> Summary {
    let text = write_shard(number, bytes);
    let counts = count_words(&text);
    let pairs = count_pairs(&text);
    let longest = text.lines().map(str::len).max().unwrap_or(0);
    let total = counts.values().map(|&n| n as u64).sum();
    Summary {
        words: counts.into_iter().filter(|&(_, n)| n >= 3).map(|(word, n)| (word.to_string(), n)).collect(),
        pairs: pairs.values().filter(|&&n| n > 1).count(),
        longest,
        total,
    }
}

fn main() {
    let mut arguments = env::args().skip(1);
    let threads: u64 = arguments.next().map_or(4, |a| a.parse().expect("a number of threads"));
    let bytes: usize = arguments.next().map_or(5_000_000, |a| a.parse().expect("a number of bytes"));

    let summaries: Vec<Summary> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|number| scope.spawn(move || summarise(number, bytes))).collect();
        workers.into_iter().map(|worker| worker.join().expect("a shard failed")).collect()
    });

    let mut all: HashMap<String, u64> = HashMap::new();
    let (mut pairs, mut longest, mut total) = (0, 0, 0);
    for summary in summaries {
        for (word, n) in summary.words {
            *all.entry(word).or_insert(0) += n as u64;
        }
        pairs += summary.pairs;
        longest = longest.max(summary.longest);
        total += summary.total;
    }
    let mut top: Vec<_> = all.iter().collect();
    top.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (word, n) in top.iter().take(3) {
        println!("{word} {n}");
    }
    println!("{total} words, {} different, {pairs} pairs, longest line {longest}", all.len());
}
