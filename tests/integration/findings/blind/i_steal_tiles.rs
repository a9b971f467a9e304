// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: Fractals compute for long and write little: each pixel of a frame is written once, mostly
// by the thread whose deque had the tile. Stealing evens out the work; the picture's pages
// hardly matter.
// action: run = none
// harm: picture.pixels = spread | copy | local | divide
// harm: run = balance
// Frames of a fractal: a deque of tiles per worker, and workers without tiles steal from others.
//   usage: steal_tiles [side] [frames] [threads]
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;
use std::thread;

const TILE: usize = 32;

struct Picture {
    side: usize,
    pixels: Vec<AtomicU32>,
}

impl Picture {
    fn new(side: usize) -> Picture {
        Picture { side, pixels: (0..side * side).map(|_| AtomicU32::new(0)).collect() }
    }

    fn draw(&self, tile: usize, zoom: f64) {
        let tiles = self.side / TILE;
        let (left, top) = (tile % tiles * TILE, tile / tiles * TILE);
        for y in top..top + TILE {
            for x in left..left + TILE {
                let cr = -0.74 + zoom * (x as f64 / self.side as f64 - 0.5);
                let ci = 0.1 + zoom * (y as f64 / self.side as f64 - 0.5);
                self.pixels[y * self.side + x].store(escape(cr, ci), Ordering::Relaxed);
            }
        }
    }
}

fn escape(cr: f64, ci: f64) -> u32 {
    let (mut re, mut im) = (0.0, 0.0);
    for step in 0..200 {
        let (re2, im2) = (re * re, im * im);
        if re2 + im2 > 4.0 {
            return step;
        }
        im = 2.0 * re * im + ci;
        re = re2 - im2 + cr;
    }
    200
}

fn next_tile(deques: &[Mutex<VecDeque<usize>>], me: usize) -> Option<usize> {
    if let Some(tile) = deques[me].lock().unwrap().pop_front() {
        return Some(tile);
    }
    for step in 1..deques.len() {
        if let Some(tile) = deques[(me + step) % deques.len()].lock().unwrap().pop_back() {
            return Some(tile);
        }
    }
    None
}

fn main() {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    let side = numbers.first().copied().unwrap_or(768);
    let frames = numbers.get(1).copied().unwrap_or(4);
    let workers = numbers.get(2).copied().unwrap_or(4);
    let picture = Picture::new(side);
    let tiles = (side / TILE) * (side / TILE);
    let mut zoom = 2.4;
    let mut inside = 0u64;
    for _ in 0..frames {
        let deques: Vec<Mutex<VecDeque<usize>>> = (0..workers)
            .map(|w| Mutex::new((tiles * w / workers..tiles * (w + 1) / workers).collect()))
            .collect();
        thread::scope(|scope| {
            for me in 0..workers {
                let (deques, picture) = (&deques, &picture);
                scope.spawn(move || {
                    while let Some(tile) = next_tile(deques, me) {
                        picture.draw(tile, zoom);
                    }
                });
            }
        });
        inside += picture.pixels.iter().filter(|p| p.load(Ordering::Relaxed) == 200).count() as u64;
        zoom *= 0.6;
    }
    println!("inside {inside}");
}
