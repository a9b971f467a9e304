// SPDX-License-Identifier: Apache-2.0
// A hash join: the main thread builds the table, and the threads probe it at random.
// label: heads = shared, read-mostly
// action: heads = copy or spread
// harm: heads = local
// label: rows = shared, read-mostly
// action: rows = copy or spread
// harm: rows = local
// label: chain = shared, read-mostly
// action: chain = copy or spread
// harm: chain = local
// label: orders = partitioned
// Hash join of an orders relation with a customers relation, then a grouped sum.
// usage: l_join [threads] [thousands of customers]
use std::env;
use std::sync::Arc;
use std::thread;

const NIL: u32 = u32::MAX;
const REGIONS: usize = 25;

#[derive(Clone, Copy)]
struct Customer {
    id: u64,
    region: u32,
    discount: u32,
}

#[derive(Clone, Copy)]
struct Order {
    customer: u64,
    amount: u64,
}

struct JoinTable {
    heads: Vec<u32>,
    chain: Vec<u32>,
    rows: Vec<Customer>,
    shift: u32,
}

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545f4914f6cdd1d)
    }
}

fn slot(key: u64, shift: u32) -> usize {
    (key.wrapping_mul(0x9e3779b97f4a7c15) >> shift) as usize
}

fn customer_id(i: u64) -> u64 {
    i.wrapping_mul(0x5851f42d4c957f2d) >> 8
}

impl JoinTable {
    fn build(rows: Vec<Customer>) -> JoinTable {
        let bits = (rows.len() as u64).next_power_of_two().trailing_zeros();
        let shift = 64 - bits;
        let mut heads = vec![NIL; 1 << bits];
        let mut chain = vec![NIL; rows.len()];
        for (i, c) in rows.iter().enumerate() {
            let s = slot(c.id, shift);
            chain[i] = heads[s];
            heads[s] = i as u32;
        }
        JoinTable { heads, chain, rows, shift }
    }

    fn lookup(&self, key: u64) -> Option<&Customer> {
        let mut at = self.heads[slot(key, self.shift)];
        while at != NIL {
            let c = &self.rows[at as usize];
            if c.id == key {
                return Some(c);
            }
            at = self.chain[at as usize];
        }
        None
    }

    fn bytes(&self) -> usize {
        self.heads.len() * 4 + self.chain.len() * 4 + self.rows.len() * std::mem::size_of::<Customer>()
    }
}

fn load_customers(n: u64) -> Vec<Customer> {
    let mut rng = Rng(99);
    let mut rows = Vec::new();
    for i in 0..n {
        let r = rng.next();
        rows.push(Customer {
            id: customer_id(i),
            region: (r % REGIONS as u64) as u32,
            discount: (r >> 32) as u32 % 30,
        });
    }
    rows
}

fn scan_orders(part: u64, count: usize, customers: u64) -> Vec<Order> {
    let mut rng = Rng(part * 1_000_003 + 12345);
    (0..count)
        .map(|_| {
            let r = rng.next();
            Order { customer: customer_id((r >> 20) % (customers + customers / 8)), amount: r & 0xffff }
        })
        .collect()
}

fn probe(table: &JoinTable, orders: &[Order], rounds: usize) -> ([u64; REGIONS], u64) {
    let mut sums = [0u64; REGIONS];
    let mut unmatched = 0u64;
    for round in 0..rounds as u64 {
        for o in orders {
            match table.lookup(o.customer) {
                Some(c) => {
                    let net = o.amount * (100 - c.discount as u64) + round;
                    sums[c.region as usize] += net;
                }
                None => unmatched += 1,
            }
        }
    }
    (sums, unmatched)
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let threads: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(4).max(1);
    let customers: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(4000).max(1) * 1000;
    let orders_all: usize = 6_000_000;

    let table = Arc::new(JoinTable::build(load_customers(customers)));
    let handles: Vec<_> = (0..threads)
        .map(|part| {
            let table = Arc::clone(&table);
            thread::Builder::new()
                .name(format!("probe-{part}"))
                .spawn(move || {
                    let orders = scan_orders(part, orders_all / threads as usize, customers);
                    probe(&table, &orders, 3)
                })
                .expect("spawn")
        })
        .collect();

    let mut sums = [0u64; REGIONS];
    let mut unmatched = 0;
    for h in handles {
        let (s, u) = h.join().unwrap();
        for (a, b) in sums.iter_mut().zip(s.iter()) {
            *a += b;
        }
        unmatched += u;
    }
    let check = sums.iter().fold(0u64, |a, s| a.wrapping_mul(1099511628211).wrapping_add(*s));
    println!(
        "table {} MiB orders {} unmatched {} checksum {:016x}",
        table.bytes() >> 20,
        orders_all,
        unmatched,
        check
    );
}
