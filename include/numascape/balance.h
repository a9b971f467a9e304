/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Map tasks to the cores of a NUMA machine.
 *
 * Fill a numascape_balance_problem with tasks that have loads and exchange messages, and with the
 * machine's cores and nodes; numascape_balance() writes the core of each task. All arrays belong to
 * the caller, are only read, and may be freed after the call. The pointer to an unknown array is
 * NULL; the comment of each pointer says what this means. Calls may run in parallel.
 *
 * Link with -lnumascape_balance.
 */
#ifndef NUMASCAPE_BALANCE_H
#define NUMASCAPE_BALANCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NUMASCAPE_BALANCE_VERSION 2

struct numascape_balance_problem {
    uint32_t tasks;
    const double* load;           /* seconds of each task in one iteration at speed 1 */
    const uint32_t* core;         /* where each task is now */
    const uint8_t* fixed;         /* 1: may not move; NULL: all may */
    const double* migrated_bytes; /* what a task's migration carries; NULL: nothing */
    const double* memory;         /* bytes of each task on its node; NULL: none */

    /* Messages of one iteration by sender: task t sends those from message_offsets[t] up to, not
     * including, message_offsets[t + 1]. NULL: none. */
    const uint64_t* message_offsets; /* tasks + 1 */
    const uint32_t* message_to;      /* the receiving task */
    const double* message_bytes;     /* sum of all messages between the two; NULL: 0 */
    const double* message_count;     /* number of messages between the two; NULL: 1 */
    /* The cost of messages within a node: count * cost_per_message + bytes * cost_per_byte. The
     * predicted iteration times are only valid if this cost is in seconds. Both 0: the cost is
     * the count. */
    double cost_per_message;
    double cost_per_byte;

    uint32_t cores;
    const uint32_t* core_node; /* the node of each core, from 0 */
    const double* speed;       /* NULL: 1 */
    const double* background;  /* seconds of each iteration used by other work; NULL: 0 */

    /* Row-major matrices; row = sender's node. */
    uint32_t nodes;
    const double* factor;      /* NUMA factors, 1 on the diagonal; NULL: 1 everywhere */
    const double* latency;     /* seconds of a message; NULL: unknown */
    const double* bandwidth;   /* bytes per second; NULL: unknown */
    const double* node_memory; /* bytes; NULL: unlimited */
};

struct numascape_balance_options {
    const char* algorithm; /* a name that numascape_balance_algorithm() lists */
    double alpha;          /* NumaLB, NucoLB: weight of messages; NaN: chosen */
    int received_too;      /* NumaLB, NucoLB: also count the messages that a task receives */
    double max_imbalance;  /* time of the slowest core / that of perfect balance, such as 1.05 */
    double max_migrations; /* incumbent: caps; infinity where there are none */
    double max_migrated_bytes;
    double max_communication;
    double migration_price;      /* incumbent: per migration, in units of cost; NaN: chosen */
    double byte_price;           /* incumbent: per migrated byte, in units of cost */
    double communication_weight; /* incumbent: factor on communication; default 1 */
    double effort;               /* incumbent: factor on the amount of search; default 1 */
    double time_limit;           /* incumbent: seconds; results then vary; default infinity */
    uint32_t threads;            /* incumbent: the result does not depend on it */
    uint64_t seed;
    const uint32_t* start; /* incumbent: another mapping to start from as well; NULL: none */
    double iterations;     /* incumbent: until the next balance; default 1 */
    const char* starts;    /* incumbent: names of starts with commas, as in "now,twolevel", or of
                            * algorithms; NULL: chosen */
};

struct numascape_balance_metrics {
    double imbalance;      /* time of the slowest core / that of perfect balance; 1 without work */
    double communication;  /* sum of message cost * NUMA factor of its nodes */
    double off_node_bytes; /* bytes of messages between nodes */
    uint64_t migrations;
    double migrated_bytes;
    double iteration_time;  /* seconds of the slowest core, with its sending of messages */
    double memory_overflow; /* bytes of tasks beyond their nodes' memory */
    double own_seconds;     /* run time of the algorithm; 0 from _measure */
};

/* Sets the defaults. Call it first, so that options of later versions have defaults, too. */
void numascape_balance_defaults(struct numascape_balance_options* options);

/* The name of algorithm number `index`; NULL if there are fewer algorithms. */
const char* numascape_balance_algorithm(size_t index);

/*
 * Writes a core for each task to `mapping` (tasks entries) and, unless NULL, its metrics to
 * `metrics`. Returns 0; or -1, and writes one line that says what is wrong into `error`
 * (error_size bytes, ends with 0; may be NULL with 0).
 */
int numascape_balance(const struct numascape_balance_problem* problem,
                      const struct numascape_balance_options* options, uint32_t* mapping,
                      struct numascape_balance_metrics* metrics, char* error, size_t error_size);

/* The metrics of a given mapping. Errors as above. */
int numascape_balance_measure(const struct numascape_balance_problem* problem,
                              const uint32_t* mapping, struct numascape_balance_metrics* metrics,
                              char* error, size_t error_size);

/* Renumbers the cores of `mapping`, in place. Loads and communication cost stay the same, and there
 * are fewer migrations. Partitioners number parts arbitrarily: call this before you compare their
 * migrations with those of a balancer. Errors as above. */
int numascape_balance_relabel(const struct numascape_balance_problem* problem, uint32_t* mapping,
                              char* error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
