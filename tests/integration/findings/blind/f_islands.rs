// SPDX-License-Identifier: Apache-2.0
// A genetic algorithm for the travelling salesman with four islands and migration in a ring.
// std::thread::scope (main is island 0), a barrier and mutexes; each island makes its own populations.
// label: pop = partitioned
// Why: each island allocates, fills and breeds its own population.
// label: next = partitioned
// Why: each island allocates and fills its own second population.
// label: cities = cache-resident
// Why: 4 KiB of coordinates that all islands only read.
// label: run = no NUMA problem
// Why: the islands share only the coordinates and one emigrant each per generation, and have equal work.
use std::sync::{Barrier, Mutex};
use std::thread;

const ISLANDS: usize = 4;
const CITIES: usize = 256;
const TOURS: usize = 2048;
const GENERATIONS: usize = 6;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// The length of a closed tour.
fn length(cities: &[(f32, f32)], tour: &[u16]) -> f32 {
    let mut sum = 0.0;
    let mut last = cities[tour[CITIES - 1] as usize];
    for &city in tour {
        let here = cities[city as usize];
        let (dx, dy) = (here.0 - last.0, here.1 - last.1);
        sum += (dx * dx + dy * dy).sqrt();
        last = here;
    }
    sum
}

fn tour_of(population: &[u16], index: usize) -> &[u16] {
    &population[index * CITIES..(index + 1) * CITIES]
}

/// The shorter of two random tours.
fn chosen(lengths: &[f32], random: &mut Random) -> usize {
    let (a, b) = (random.below(TOURS), random.below(TOURS));
    if lengths[a] <= lengths[b] {
        a
    } else {
        b
    }
}

fn shortest(lengths: &[f32]) -> usize {
    (0..TOURS).min_by(|&a, &b| lengths[a].total_cmp(&lengths[b])).unwrap_or(0)
}

fn evolve(island: usize, cities: &[(f32, f32)], gates: &[Mutex<Vec<u16>>], barrier: &Barrier) -> (f32, f32) {
    let mut random = Random(0x9e37_79b9 + island as u64 * 7919);
    let mut pop: Vec<u16> = Vec::with_capacity(TOURS * CITIES);
    for _ in 0..TOURS {
        let start = pop.len();
        pop.extend(0..CITIES as u16);
        for i in (1..CITIES).rev() {
            pop.swap(start + i, start + random.below(i + 1));
        }
    }
    let mut next: Vec<u16> = Vec::with_capacity(TOURS * CITIES);
    let mut lengths = vec![0.0f32; TOURS];
    let mut first = 0.0;
    for generation in 0..GENERATIONS {
        for (index, value) in lengths.iter_mut().enumerate() {
            *value = length(cities, tour_of(&pop, index));
        }
        let best = shortest(&lengths);
        if generation == 0 {
            first = lengths[best];
        }
        gates[island].lock().unwrap().copy_from_slice(tour_of(&pop, best));
        barrier.wait();
        next.clear();
        next.extend_from_slice(&gates[(island + 1) % ISLANDS].lock().unwrap());
        next.extend_from_slice(tour_of(&pop, best));
        for _ in 2..TOURS {
            let start = next.len();
            next.extend_from_slice(tour_of(&pop, chosen(&lengths, &mut random)));
            // Two-opt: the path between two cities is turned round.
            let (a, b) = (random.below(CITIES), random.below(CITIES));
            next[start + a.min(b)..start + a.max(b)].reverse();
        }
        barrier.wait();
        std::mem::swap(&mut pop, &mut next);
    }
    let last = (0..TOURS).map(|i| length(cities, tour_of(&pop, i))).fold(f32::MAX, f32::min);
    (first, last)
}

fn main() {
    let mut random = Random(42);
    let cities: Vec<(f32, f32)> = (0..CITIES)
        .map(|_| (random.below(1000) as f32, random.below(1000) as f32))
        .collect();
    let gates: Vec<Mutex<Vec<u16>>> =
        (0..ISLANDS).map(|_| Mutex::new(vec![0; CITIES])).collect();
    let barrier = Barrier::new(ISLANDS);
    let results: Vec<(f32, f32)> = thread::scope(|scope| {
        let (cities, gates, barrier) = (&cities, &gates, &barrier);
        let others: Vec<_> = (1..ISLANDS)
            .map(|island| scope.spawn(move || evolve(island, cities, gates, barrier)))
            .collect();
        let mut results = vec![evolve(0, cities, gates, barrier)];
        results.extend(others.into_iter().map(|other| other.join().unwrap()));
        results
    });
    for (island, (first, last)) in results.iter().enumerate() {
        println!("island {island}: {first:.0}, then {last:.0}");
        assert!(last < first);
    }
}
