// SPDX-License-Identifier: Apache-2.0

// Rust: threads with signal stacks of two pages, channels, locks, a panic, a child.
use std::collections::BTreeMap;
use std::io::Read;
use std::panic;
use std::process::{exit, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use std::time::Duration;

struct Tree {
    below: Option<(Box<Tree>, Box<Tree>)>,
    value: u64,
}

fn tree(depth: u64) -> Tree {
    let below = (depth > 0).then(|| (Box::new(tree(depth - 1)), Box::new(tree(depth - 1))));
    Tree {
        below,
        value: depth + 1,
    }
}

fn sum(tree: &Tree) -> u64 {
    tree.value
        + tree
            .below
            .as_ref()
            .map_or(0, |(left, right)| sum(left) + sum(right))
}

fn recovered() -> u64 {
    let empty: Vec<u64> = Vec::new();
    panic::catch_unwind(|| empty[std::hint::black_box(3)]).unwrap_or(5)
}

fn counted() -> u64 {
    let counts = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for worker in 0..2u64 {
            let counts = &counts;
            scope.spawn(move || {
                for i in 0..500u64 {
                    *counts
                        .lock()
                        .unwrap()
                        .entry(format!("key{}", i % 97))
                        .or_insert(0) += worker;
                }
            });
        }
    });
    let counts = counts.into_inner().unwrap();
    counts.values().sum()
}

fn work() -> u64 {
    let (results, received) = mpsc::channel();
    for worker in 0..3 {
        let results = results.clone();
        thread::spawn(move || results.send(sum(&tree(9 + worker))).unwrap());
    }
    drop(results);
    let total: u64 = received.iter().sum();
    let child = Command::new("/bin/echo").arg("child").output().unwrap();
    assert_eq!(child.stdout, b"child\n");
    total + counted() + recovered()
}

fn main() {
    panic::set_hook(Box::new(|_| ()));
    let result = work();
    if std::env::args().len() > 1 {
        let told = Arc::new(AtomicBool::new(false));
        let teller = told.clone();
        thread::spawn(move || {
            let _ = std::io::stdin().read(&mut [0]);
            teller.store(true, Ordering::Relaxed);
        });
        // Like a service, it has threads that continue to live.
        for _ in 0..2 {
            let told = told.clone();
            thread::spawn(move || {
                while !told.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        loop {
            println!("round");
            assert_eq!(work(), result);
            if told.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    println!("{result}");
    exit(7);
}
