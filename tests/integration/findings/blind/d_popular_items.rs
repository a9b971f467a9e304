// SPDX-License-Identifier: Apache-2.0
// Recommendation with embeddings. Main makes the table of item vectors and the list of queries. The
// queries are divided into one contiguous chunk per thread. Each query reads the vector of one item,
// and items are ordered by popularity: the first of the 256 pages of the table gets about 16 % of the
// reads, and the last ones 0.1 % each. All threads read all its pages, and nobody writes them again.
// label: table = shared, read-mostly
// label: table = hot pages
// action: table = copy or spread
// harm: table = local
// label: queries = serial first touch
// action: queries = local
use std::thread;

const ITEMS: usize = 1 << 14;
const DIMENSIONS: usize = 16;
const QUERIES: usize = 5 << 19;

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn score(table: &[f32], queries: &[u32]) -> f32 {
    let mut profile = [0.01f32; DIMENSIONS];
    let mut total = 0.0f32;
    for &item in queries {
        let start = item as usize * DIMENSIONS;
        let vector = &table[start..start + DIMENSIONS];
        let mut product = 0.0f32;
        for (a, b) in profile.iter().zip(vector) {
            product += a * b;
        }
        profile[item as usize % DIMENSIONS] = 0.01 + 0.001 * product;
        total += product;
    }
    total
}

fn main() {
    let threads: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(4);
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut table = vec![0f32; ITEMS * DIMENSIONS];
    for value in table.iter_mut() {
        *value = random.next() as f32 - 0.5;
    }
    let mut queries = vec![0u32; QUERIES];
    for query in queries.iter_mut() {
        let u = random.next();
        *query = (u * u * u * ITEMS as f64) as u32;
    }
    let total: f32 = thread::scope(|scope| {
        let workers: Vec<_> = queries
            .chunks(QUERIES.div_ceil(threads))
            .map(|chunk| {
                let table = &table;
                scope.spawn(move || score(table, chunk))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker failed")).sum()
    });
    println!("total {total:.3}");
}
