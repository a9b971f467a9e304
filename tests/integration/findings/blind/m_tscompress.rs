// SPDX-License-Identifier: Apache-2.0
// Every worker makes, uses and frees its own data.
// label: run = no NUMA problem
// action: run = none
// label: series = partitioned
// label: buf = partitioned
// harm: series = spread | local
// harm: run = balance
// Delta-of-delta / XOR compression of sensor series, each worker owns a range of sensors.
//   usage: tscompress [points per sensor] [threads]
use std::env;
use std::thread;

const SENSORS: usize = 32;

struct BitWriter {
    buf: Vec<u64>,
    acc: u64,
    used: u32,
}

impl BitWriter {
    fn new() -> Self {
        BitWriter { buf: Vec::new(), acc: 0, used: 0 }
    }
    fn put(&mut self, v: u64, n: u32) {
        let v = if n == 64 { v } else { v & ((1u64 << n) - 1) };
        self.acc |= v << self.used;
        if self.used + n >= 64 {
            self.buf.push(self.acc);
            let taken = 64 - self.used;
            self.acc = if taken == 64 { 0 } else if taken < n { v >> taken } else { 0 };
            self.used = self.used + n - 64;
        } else {
            self.used += n;
        }
    }
    fn finish(mut self) -> Vec<u64> {
        self.buf.push(self.acc);
        self.buf
    }
}

struct BitReader<'a> {
    buf: &'a [u64],
    pos: usize,
}

impl<'a> BitReader<'a> {
    fn get(&mut self, n: u32) -> u64 {
        if n == 0 {
            return 0;
        }
        let (w, o) = (self.pos / 64, (self.pos % 64) as u32);
        self.pos += n as usize;
        let mut v = self.buf[w] >> o;
        if o + n > 64 {
            v |= self.buf[w + 1] << (64 - o);
        }
        if n == 64 { v } else { v & ((1u64 << n) - 1) }
    }
}

#[derive(Clone, Copy)]
struct Point {
    ts: i64,
    val: f64,
}

fn generate(sensor: usize, n: usize) -> Vec<Point> {
    let mut s = 0x9E3779B97F4A7C15u64.wrapping_mul(sensor as u64 + 1);
    let mut ts = 1_700_000_000i64;
    let mut val = 20.0;
    let mut out = Vec::with_capacity(n);
    for _ in 0..n {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        ts += 10 + if s & 15 == 0 { (s >> 8 & 3) as i64 } else { 0 };
        if s & 0x30 == 0 {
            val += ((s >> 20 & 31) as f64 - 15.5) * 0.0625;
        }
        out.push(Point { ts, val });
    }
    out
}

fn compress(pts: &[Point]) -> Vec<u64> {
    let mut w = BitWriter::new();
    w.put(pts[0].ts as u64, 64);
    w.put(pts[0].val.to_bits(), 64);
    let (mut last, mut delta, mut bits) = (pts[0].ts, 0i64, pts[0].val.to_bits());
    for p in &pts[1..] {
        let d = p.ts - last;
        let dd = d - delta;
        if dd == 0 {
            w.put(0, 1);
        } else {
            w.put(1, 1);
            w.put((dd + 64) as u64, 7);
        }
        last = p.ts;
        delta = d;
        let x = p.val.to_bits() ^ bits;
        bits = p.val.to_bits();
        if x == 0 {
            w.put(0, 1);
        } else {
            w.put(1, 1);
            let tz = x.trailing_zeros();
            let len = 64 - tz - x.leading_zeros();
            w.put(tz as u64, 6);
            w.put(len as u64 - 1, 6);
            w.put(x >> tz, len);
        }
    }
    w.finish()
}

fn decompress(buf: &[u64], n: usize) -> (i64, f64) {
    let mut r = BitReader { buf, pos: 0 };
    let mut ts = r.get(64) as i64;
    let mut bits = r.get(64);
    let (mut delta, mut sum) = (0i64, f64::from_bits(bits));
    for _ in 1..n {
        if r.get(1) == 1 {
            delta += r.get(7) as i64 - 64;
        }
        ts += delta;
        if r.get(1) == 1 {
            let tz = r.get(6) as u32;
            let len = r.get(6) as u32 + 1;
            bits ^= r.get(len) << tz;
        }
        sum += f64::from_bits(bits);
    }
    (ts, sum)
}

fn worker(lo: usize, hi: usize, n: usize) -> (usize, f64) {
    let series: Vec<Vec<Point>> = (lo..hi).map(|s| generate(s, n)).collect();
    let mut words = 0;
    let mut check = 0.0;
    for pts in &series {
        let c = compress(pts);
        let (ts, sum) = decompress(&c, n);
        assert_eq!(ts, pts[n - 1].ts);
        words += c.len();
        check += sum / n as f64;
    }
    (words, check)
}

fn main() {
    let a: Vec<String> = env::args().collect();
    let n: usize = a.get(1).map_or(170_000, |s| s.parse().unwrap());
    let nt: usize = a.get(2).map_or(4, |s| s.parse().unwrap());
    let hs: Vec<_> = (0..nt)
        .map(|t| {
            let (lo, hi) = (SENSORS * t / nt, SENSORS * (t + 1) / nt);
            thread::spawn(move || worker(lo, hi, n))
        })
        .collect();
    let (mut words, mut check) = (0, 0.0);
    for h in hs {
        let (w, c) = h.join().unwrap();
        words += w;
        check += c;
    }
    let ratio = (SENSORS * n * 16) as f64 / (words * 8) as f64;
    println!("checksum {:.6} words {} ratio {:.2}", check, words, ratio);
}
