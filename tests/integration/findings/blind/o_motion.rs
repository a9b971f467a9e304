// SPDX-License-Identifier: Apache-2.0
// Threads search bands of frames that main decoded. Bands need unequal work; counters lie side by
// side.
// label: luma = serial first touch
// action: luma = local
// harm: luma = copy
// label: count.searched = false sharing of cache lines
// action: count.searched = pad
// minor: count.skipped = false sharing of cache lines
// action: count.skipped = pad
// label: run = load imbalance
// action: run = balance
// minor: mine = partitioned
// motion - block motion estimation for a video encoder (full search with early exits).
//   motion [threads] [frames]
use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

const W: usize = 1280;
const H: usize = 720;
const MB: usize = 16;
const RANGE: i32 = 5;

/// Luma planes of the clip.
struct Clip {
    frames: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Default)]
struct Vector {
    dx: i8,
    dy: i8,
    sad: u16,
}

struct Counters {
    searched: Vec<AtomicU64>,
    skipped: Vec<AtomicU64>,
}

fn noise(x: usize, y: usize) -> u8 {
    let mut h = (x as u32).wrapping_mul(0x9E37_79B1) ^ (y as u32).wrapping_mul(0x85EB_CA77);
    h ^= h >> 15;
    h = h.wrapping_mul(0x2C1B_3C6D);
    (h >> 25) as u8
}

/// A panning crowd over a still table: only the upper part of the picture moves.
fn decode(count: usize) -> Clip {
    let mut frames = Vec::with_capacity(count);
    for f in 0..count {
        let mut luma = vec![0u8; W * H];
        for y in 0..H {
            let pan = if y < H * 45 / 100 { f * 3 } else { 0 };
            let row = &mut luma[y * W..(y + 1) * W];
            for (x, p) in row.iter_mut().enumerate() {
                let sx = x + pan;
                *p = ((sx / 5 * 3 + y / 3) & 127) as u8 + (noise(sx / 3, y / 2) >> 1);
            }
        }
        frames.push(luma);
    }
    Clip { frames }
}

fn sad(cur: &[u8], old: &[u8], x: usize, y: usize, rx: usize, ry: usize, limit: u32) -> u32 {
    let mut sum = 0u32;
    for r in 0..MB {
        let a = &cur[(y + r) * W + x..(y + r) * W + x + MB];
        let b = &old[(ry + r) * W + rx..(ry + r) * W + rx + MB];
        sum += a.iter().zip(b).map(|(p, q)| p.abs_diff(*q) as u32).sum::<u32>();
        if sum >= limit {
            break;
        }
    }
    sum
}

fn search(cur: &[u8], old: &[u8], x: usize, y: usize, id: usize, count: &Counters) -> Vector {
    let mut best = sad(cur, old, x, y, x, y, u32::MAX);
    let mut v = Vector { dx: 0, dy: 0, sad: best.min(65535) as u16 };
    if best < 64 {
        count.skipped[id].fetch_add(1, Ordering::Relaxed);
        return v; // still block
    }
    for dy in -RANGE..=RANGE {
        for dx in -RANGE..=RANGE {
            let (rx, ry) = (x as i32 + dx, y as i32 + dy);
            if rx < 0 || ry < 0 || rx as usize > W - MB || ry as usize > H - MB {
                continue;
            }
            count.searched[id].fetch_add(1, Ordering::Relaxed);
            let s = sad(cur, old, x, y, rx as usize, ry as usize, best);
            if s < best {
                best = s;
                v = Vector { dx: dx as i8, dy: dy as i8, sad: s.min(65535) as u16 };
            }
        }
    }
    v
}

fn main() {
    let mut args = env::args().skip(1);
    let threads: usize = args.next().and_then(|a| a.parse().ok()).unwrap_or(4);
    let frames: usize = args.next().and_then(|a| a.parse().ok()).unwrap_or(9);

    let clip = decode(frames);
    let (bx, by) = (W / MB, H / MB);
    let count = Counters {
        searched: (0..threads).map(|_| AtomicU64::new(0)).collect(),
        skipped: (0..threads).map(|_| AtomicU64::new(0)).collect(),
    };
    let frame_done = Barrier::new(threads);
    let fields: Vec<Mutex<Vec<Vector>>> = (0..threads).map(|_| Mutex::new(Vec::new())).collect();

    thread::scope(|s| {
        for id in 0..threads {
            let (clip, count, frame_done, fields) = (&clip, &count, &frame_done, &fields);
            s.spawn(move || {
                let (first, last) = (by * id / threads, by * (id + 1) / threads);
                let mut mine = Vec::with_capacity((last - first) * bx * frames);
                for f in 1..clip.frames.len() {
                    for row in first..last {
                        for col in 0..bx {
                            let (cur, old) = (&clip.frames[f], &clip.frames[f - 1]);
                            mine.push(search(cur, old, col * MB, row * MB, id, count));
                        }
                    }
                    frame_done.wait();
                }
                *fields[id].lock().unwrap() = mine;
            });
        }
    });

    let (mut moved, mut energy, mut digest) = (0u64, 0u64, 0u64);
    for f in &fields {
        for v in f.lock().unwrap().iter() {
            moved += (v.dx != 0 || v.dy != 0) as u64;
            energy += v.sad as u64;
            digest += (v.dx as i64 * 31 + v.dy as i64 + 1000) as u64 * (v.sad as u64 + 1);
        }
    }
    let total = |c: &Vec<AtomicU64>| c.iter().map(|a| a.load(Ordering::Relaxed)).sum::<u64>();
    println!(
        "frames {} moved {} sad {} searched {} skipped {} digest {:x}",
        frames, moved, energy, total(&count.searched), total(&count.skipped), digest
    );
}
