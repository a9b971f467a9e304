// SPDX-License-Identifier: Apache-2.0
// Edges in a photo at several scales. Main collects the photo into a vector, so main touches all of
// its pages. Each thread then computes the strongest response of its own rows, over all scales; it
// reads these rows and a few beyond. The responses are right: the system gives zeroed memory
// untouched, and each thread writes its own rows first.
// label: photo = serial first touch
// action: photo = local
// label: responses = partitioned
use std::thread;

const WIDTH: usize = 2048;
const HEIGHT: usize = 1200;
const SCALES: usize = 16;

fn shoot() -> Vec<f32> {
    let pixel = |p: usize| {
        let (x, y) = (p % WIDTH, p / WIDTH);
        ((x * 7 + y * 13) % 251) as f32 + if (x / 64 + y / 64) % 2 == 0 { 40.0 } else { 0.0 }
    };
    (0..WIDTH * HEIGHT).map(pixel).collect()
}

/// The strongest edges of the rows that start at `first`.
fn detect(photo: &[f32], responses: &mut [f32], first: usize) {
    for scale in 1..=SCALES {
        for (r, row) in responses.chunks_exact_mut(WIDTH).enumerate() {
            let y = first + r;
            let above = &photo[y.saturating_sub(scale) * WIDTH..][..WIDTH];
            let middle = &photo[y * WIDTH..][..WIDTH];
            let below = &photo[(y + scale).min(HEIGHT - 1) * WIDTH..][..WIDTH];
            for x in scale..WIDTH - scale {
                let across = middle[x + scale] - middle[x - scale];
                let down = below[x] - above[x];
                let strength = (across * across + down * down).sqrt() / scale as f32;
                row[x] = row[x].max(strength);
            }
        }
    }
}

fn main() {
    let threads: usize = match std::env::args().nth(1) {
        Some(text) => text.parse().expect("the number of threads"),
        None => 4,
    };
    let photo = shoot();
    let mut responses = vec![0f32; WIDTH * HEIGHT];
    let rows = HEIGHT.div_ceil(threads);
    thread::scope(|scope| {
        for (part, chunk) in responses.chunks_mut(rows * WIDTH).enumerate() {
            let photo = &photo;
            scope.spawn(move || detect(photo, chunk, part * rows));
        }
    });
    let sum: f64 = responses.iter().step_by(17).map(|&r| f64::from(r)).sum();
    println!("edges {sum:.3}");
}
