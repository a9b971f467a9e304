// SPDX-License-Identifier: Apache-2.0
// Accesses to arrays on stacks. Each array has room for the whole pages that a kernel writes, word
// by word; the pages at its ends also hold other variables.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels.h"

enum { WORDS = PAGE / 8, PAGES = 8, ROOM = (PAGES + 1) * WORDS };

static char* whole_pages(void* array) {
    return (char*)(((uintptr_t)array + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
}

static void write_pages(void* array, long first, long pages) {
    write_strided(whole_pages(array) + first * PAGE, pages * WORDS, 8);
}

// Functions with small frames use the same memory.
__attribute__((noinline)) static void small_frames(int depth) {
    double few[64];
    write_strided(few, 64, 8);
    if (depth > 0) small_frames(depth - 1);
    write_strided(few, 64, 8);
}

__attribute__((noinline)) static void call_once(void) {
    double once[ROOM];
    write_pages(once, 0, PAGES);
}

// It calls no function, so compilers put a part of the array below the stack pointer.
__attribute__((noinline)) static void call_none(void) {
    double leaf[ROOM];
    const uintptr_t begin = ((uintptr_t)leaf + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    volatile double* words = (volatile double*)begin;
    for (long i = 0; i < PAGES * WORDS; i++) words[i] = 1;
}

__attribute__((noinline)) static void call_first(void) {
    double first[ROOM];
    write_pages(first, 0, PAGES);
}

__attribute__((noinline)) static void call_second(void) {
    double second[ROOM];
    read_strided(whole_pages(second), PAGES * WORDS, 8);
    write_pages(second, 0, PAGES / 2);
}

__attribute__((noinline)) static void call_inner(void) {
    double inner[ROOM];
    write_pages(inner, 0, PAGES);
}

__attribute__((noinline)) static void call_outer(void) {
    double outer[ROOM];
    write_pages(outer, 0, PAGES);
    call_inner();
    write_pages(outer, 0, PAGES);
}

__attribute__((noinline)) static void call_often(void) {
    double often[ROOM];
    write_pages(often, 0, PAGES);
}

__attribute__((noinline)) static void recurse(int depth) {
    double recursive[ROOM];
    write_pages(recursive, 0, PAGES);
    if (depth > 0) recurse(depth - 1);
    write_pages(recursive, 0, 1);
}

static jmp_buf escape;

__attribute__((noinline)) static void jump(void) {
    double jumped[ROOM];
    write_pages(jumped, 0, PAGES);
    longjmp(escape, 1);
}

static volatile long room = ROOM;  // not known to the compiler

__attribute__((noinline)) static void call_of_data(long words) {
    double of_data[words];
    write_pages(of_data, 0, PAGES);
}

__attribute__((noinline)) static void call_alloca(long words) {
    write_pages(alloca((size_t)words * 8), 0, PAGES);
}

// The blocks share memory, so it is not known which variable is accessed.
__attribute__((noinline)) static void call_either(int which) {
    if (which) {
        double left[ROOM];
        write_pages(left, 0, PAGES);
    } else {
        double right[ROOM];
        write_pages(right, 0, PAGES);
    }
}

static void* run_thread(void* of_main) {
    double of_thread[ROOM];
    write_pages(of_thread, 0, PAGES);
    write_pages(of_main, 0, 1);
    return NULL;
}

static void run_threads(double* of_main) {
    for (int i = 0; i < 3; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_thread, of_main) != 0) exit(1);
        pthread_join(thread, NULL);
    }
}

static void run_child(double* of_main) {
    const pid_t child = fork();
    if (child == 0) {
        write_pages(of_main, 0, PAGES);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(void) {
    double of_main[ROOM];
    write_pages(of_main, 0, PAGES);
    run_threads(of_main);
    run_child(of_main);
    call_once();
    call_none();
    small_frames(100);
    for (int i = 0; i < 100; ++i) {
        call_first();
        call_second();
    }
    call_outer();
    small_frames(100);
    for (int i = 0; i < 10000; ++i) call_often();
    recurse(3);
    if (setjmp(escape) == 0) jump();
    call_of_data(room);
    call_alloca(room);
    call_either(1);
    call_either(0);
    return 0;
}
