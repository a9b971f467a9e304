// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Java: a pool of threads, compiled code, the collector, null pointers, and a child. */
public class Concurrent {
    static int[] nothing;

    static long primes(int limit) {
        boolean[] composite = new boolean[limit];
        long sum = 0;
        for (int i = 2; i < limit; i++) {
            if (composite[i]) continue;
            sum += i;
            for (long k = (long) i * i; k < limit; k += i) composite[(int) k] = true;
        }
        return sum;
    }

    static long words() {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 1000; i++) counts.merge("word" + i % 137, i, Integer::sum);
        return counts.values().stream().mapToLong(Integer::longValue).sum();
    }

    static long caught() {
        long caught = 0;
        for (int i = 0; i < 30; i++) {
            try {
                nothing[i] = 1;
            } catch (NullPointerException expected) {
                caught++;
            }
        }
        return caught;
    }

    static long work() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> parts = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            final int part = i;
            parts.add(pool.submit(() -> primes(2000 + part) + words() + caught()));
        }
        long sum = 0;
        for (Future<Long> part : parts) sum += part.get();
        pool.shutdown();
        Process child = new ProcessBuilder("/bin/sh", "-c", "echo child; exit 3").start();
        sum += child.getInputStream().readAllBytes().length + child.waitFor();
        System.gc();
        return sum;
    }

    public static void main(String[] words) throws Exception {
        long result = work();
        if (words.length > 0) {
            do {
                System.out.println("round");
                if (work() != result) throw new IllegalStateException("another result");
            } while (System.in.available() == 0);
        }
        System.out.println(result);
        System.exit(7);
    }
}
