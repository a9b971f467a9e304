# SPDX-License-Identifier: Apache-2.0
# Volatility of many stocks. The main thread makes the matrix of returns: all its pages are touched
# there. Each thread then works on its own block of rows, again and again. The matrix for results is
# allocated empty, and each thread writes and reads its own block of it, so it is in order.
# label: returns = serial first touch
# action: returns = local
# label: squares = partitioned
# action: squares = none
import sys
import threading

import numpy as np

STOCKS = 2048
DAYS = 1024
ROUNDS = 12


def work(returns, squares, first, last, volatility):
    mine = returns[first:last]
    result = squares[first:last]
    for round_number in range(ROUNDS):
        drift = 0.0001 * round_number
        np.subtract(mine, drift, out=result)
        np.multiply(result, result, out=result)
        np.add(result, mine, out=result)
        volatility[first:last] += np.sum(result, axis=1)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    returns = np.random.default_rng(7).random((STOCKS, DAYS))
    squares = np.empty((STOCKS, DAYS))
    volatility = np.zeros(STOCKS)
    threads = []
    for number in range(count):
        first = STOCKS * number // count
        last = STOCKS * (number + 1) // count
        threads.append(
            threading.Thread(target=work, args=(returns, squares, first, last, volatility))
        )
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"highest {volatility.max():.4f}")


main()
