// SPDX-License-Identifier: Apache-2.0
// label: sensors = page-level false sharing
// Why: Groups of 1 KB are dealt to the threads in turn, so each page is used by all threads, though no sensor is
// (a finding that says that pages are falsely shared would be right as well). All pages are on the main thread's
// node. With one block of sensors for each thread, pages could be local.
// action: sensors = divide | spread
// harm: sensors = copy
// harm: run = balance
// Filters of many sensors: groups of sensors, dealt to the threads like cards, in each period.
//   usage: sensor_deal [threads] [sensors] [periods]
use std::env;
use std::thread;

const GROUP: usize = 16;

/// A filter for one sensor: a state of two parts, with its covariance, and the worst surprise so far.
#[derive(Clone, Debug)]
struct Sensor {
    level: f64,
    trend: f64,
    covariance: [f64; 3],
    noise: f64,
    worst: f64,
    seed: u64,
}

impl Sensor {
    fn new(number: usize) -> Self {
        Sensor {
            level: (number % 97) as f64,
            trend: 0.0,
            covariance: [1.0, 0.0, 1.0],
            noise: 0.5 + (number % 7) as f64 * 0.1,
            worst: 0.0,
            seed: number as u64 * 2 + 1,
        }
    }

    fn measure(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.level + self.trend + ((self.seed >> 40) as f64 / (1u64 << 24) as f64 - 0.5) * self.noise
    }

    fn filter(&mut self) {
        let measured = self.measure();
        let [a, b, c] = self.covariance;
        // Predict
        self.level += self.trend;
        let (a, b, c) = (a + 2.0 * b + c + 0.01, b + c, c + 0.001);
        // Correct
        let surprise = measured - self.level;
        let scale = 1.0 / (a + self.noise);
        let (gain_level, gain_trend) = (a * scale, b * scale);
        self.level += gain_level * surprise;
        self.trend += gain_trend * surprise;
        self.covariance = [a * (1.0 - gain_level), b * (1.0 - gain_level), c - gain_trend * b];
        if surprise.abs() > self.worst {
            self.worst = surprise.abs();
        }
    }
}

/// Deals the groups of sensors to the hands of the threads.
fn deal(sensors: &mut [Sensor], threads: usize) -> Vec<Vec<&mut [Sensor]>> {
    let mut hands: Vec<Vec<&mut [Sensor]>> = (0..threads).map(|_| Vec::new()).collect();
    for (number, group) in sensors.chunks_mut(GROUP).enumerate() {
        hands[number % threads].push(group);
    }
    hands
}

fn period(sensors: &mut [Sensor], threads: usize) -> f64 {
    thread::scope(|scope| {
        let workers: Vec<_> = deal(sensors, threads)
            .into_iter()
            .map(|hand| {
                scope.spawn(move || {
                    let mut total = 0.0;
                    for group in hand {
                        for sensor in group.iter_mut() {
                            sensor.filter();
                            total += sensor.level;
                        }
                    }
                    total
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker failed")).sum()
    })
}

fn main() {
    let mut arguments = env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let threads = arguments.next().unwrap_or(4);
    let count = arguments.next().unwrap_or(400_000);
    let periods = arguments.next().unwrap_or(30);

    let mut sensors: Vec<Sensor> = (0..count).map(Sensor::new).collect();
    let mut total = 0.0;
    for _ in 0..periods {
        total = period(&mut sensors, threads);
    }
    let worst = sensors.iter().map(|s| s.worst).fold(0.0, f64::max);
    println!("mean level {:.9} worst surprise {:.9}", total / count as f64, worst);
}
