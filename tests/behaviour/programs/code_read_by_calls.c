// SPDX-License-Identifier: Apache-2.0
// System calls that write into pages that may be written and executed, and whose code was executed
// before: they read new code, or results beside the code. Some are made by code on these pages.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "rounds.h"

enum { TIMES = 60, WAITS = 30, OFTEN = 300, PAGES = 4, CODE = 6, RESULTS = 1024 };

static unsigned char* pages;
static int from_pipe, to_pipe, from_socket, to_socket, file, has_read;

// mov eax, value; ret
static void generate(unsigned char* code, int value) {
    code[0] = 0xb8;
    memcpy(code + 1, &value, sizeof value);
    code[5] = 0xc3;
}

static void run(const unsigned char* code, int value) {
    CHECK(((int (*)(void))code)() == value);
}

static void send_code(int to, int value) {
    unsigned char code[CODE];
    generate(code, value);
    CHECK(write(to, code, CODE) == CODE);
}

static void store_code(int value) {
    unsigned char code[CODE];
    generate(code, value);
    CHECK(pwrite(file, code, CODE, 0) == CODE);
}

static void read_code(unsigned char* at, int value) {
    send_code(to_pipe, value);
    CHECK(read(from_pipe, at, CODE) == CODE);
    run(at, value);
    send_code(to_pipe, value + 1);
    CHECK(syscall(SYS_read, from_pipe, at, CODE) == CODE);
    run(at, value + 1);
    store_code(value + 2);
    CHECK(pread(file, at, CODE, 0) == CODE);
    run(at, value + 2);
}

static void receive_code(unsigned char* at, int value) {
    struct iovec part = {at, CODE};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    send_code(to_socket, value);
    CHECK(recv(from_socket, at, CODE, 0) == CODE);
    run(at, value);
    send_code(to_socket, value + 1);
    CHECK(recvmsg(from_socket, &message, 0) == CODE);
    run(at, value + 1);
}

// The code is in two parts, on two pages.
static void read_parts(unsigned char* at, int value) {
    unsigned char* border = at + PAGE;
    struct iovec parts[] = {{border - 3, 3}, {border, CODE - 3}};
    send_code(to_pipe, value);
    CHECK(readv(from_pipe, parts, 2) == CODE);
    run(border - 3, value);
    store_code(value + 1);
    CHECK(preadv(file, parts, 2, 0) == CODE);
    run(border - 3, value + 1);
}

static void read_all_pages(int value) {
    unsigned char content[PAGES * PAGE];
    for (int i = 0; i < PAGES; i++) generate(content + i * PAGE, value + i);
    CHECK(pwrite(file, content, sizeof content, 0) == sizeof content);
    CHECK(pread(file, pages, sizeof content, 0) == sizeof content);
    for (int i = 0; i < PAGES; i++) run(pages + i * PAGE, value + i);
}

static void check_results_beside(unsigned char* at, int value) {
    struct stat* status = (struct stat*)(at + RESULTS);
    int* ends = (int*)(at + RESULTS);
    run(at, value);
    CHECK(fstat(file, status) == 0 && S_ISREG(status->st_mode));
    run(at, value);
    CHECK(pipe(ends) == 0);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    run(at, value);
    CHECK(getrandom(at + RESULTS, PAGE - RESULTS, 0) == PAGE - RESULTS);
    run(at, value);
    CHECK(getcwd((char*)at + RESULTS, PAGE - RESULTS) != NULL && at[RESULTS] == '/');
}

// A function on the page reads new content of the page, which has the same function.
static void read_by_itself(unsigned char* at, int value) {
    static const unsigned char reads[] = {0x31, 0xc0, 0x0f, 0x05,
                                          0xc3};  // xor eax, eax; syscall; ret
    unsigned char content[sizeof reads + CODE];
    memcpy(content, reads, sizeof reads);
    generate(content + sizeof reads, value);
    memcpy(at, reads, sizeof reads);
    CHECK(write(to_pipe, content, sizeof content) == sizeof content);
    CHECK(((long (*)(int, void*, size_t))at)(from_pipe, at, sizeof content) == sizeof content);
    run(at + sizeof reads, value);
}

static void* read_beside(void* at) {
    CHECK(read(from_pipe, (unsigned char*)at + RESULTS, CODE) == CODE);
    return NULL;
}

static void* read_often(void* at) {
    unsigned char code[CODE];
    for (int i = 0; i < OFTEN; i++) {
        generate(code, i);
        CHECK(pwrite(file, code, CODE, 0) == CODE);
        CHECK(pread(file, (unsigned char*)at + RESULTS, CODE, 0) == CODE);
        CHECK(memcmp((unsigned char*)at + RESULTS, code, CODE) == 0);
    }
    __atomic_store_n(&has_read, 1, __ATOMIC_RELEASE);
    return NULL;
}

static unsigned char* map_page(void) {
    unsigned char* at =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

// Code on the page is executed all the time.
static void execute_beside(void) {
    pthread_t reader;
    unsigned char* at = map_page();
    generate(at, OFTEN);
    has_read = 0;
    CHECK(pthread_create(&reader, NULL, read_often, at) == 0);
    while (!__atomic_load_n(&has_read, __ATOMIC_ACQUIRE)) run(at, OFTEN);
    CHECK(pthread_join(reader, NULL) == 0 && munmap(at, PAGE) == 0);
}

// Code on the page is executed, perhaps for the first time, while a thread waits to write there.
static void wait_beside(void) {
    for (int i = 0; i < WAITS; i++) {
        pthread_t reader;
        unsigned char* at = map_page();
        generate(at, i);
        CHECK(pthread_create(&reader, NULL, read_beside, at) == 0);
        if (i % 2 == 0) usleep(1000);
        run(at, i);
        send_code(to_pipe, -i);
        CHECK(pthread_join(reader, NULL) == 0);
        run(at + RESULTS, -i);
        CHECK(munmap(at, PAGE) == 0);
    }
}

static void open_all(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    from_pipe = ends[0];
    to_pipe = ends[1];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    from_socket = ends[0];
    to_socket = ends[1];
    file = memfd_create("code", MFD_CLOEXEC);
    CHECK(file >= 0);
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
}

static void close_all(void) {
    CHECK(close(from_pipe) == 0 && close(to_pipe) == 0);
    CHECK(close(from_socket) == 0 && close(to_socket) == 0 && close(file) == 0);
    CHECK(munmap(pages, PAGES * PAGE) == 0);
}

static long work(void) {
    open_all();
    for (int i = 0; i < TIMES; i++) {
        read_code(pages, 10 * i);
        receive_code(pages + 100, 20 * i);
        read_by_itself(pages + 200, 25 * i);
        read_parts(pages + PAGE, 30 * i);
        read_all_pages(40 * i);
        check_results_beside(pages + (i % PAGES) * PAGE, 40 * i + i % PAGES);
    }
    wait_beside();
    execute_beside();
    close_all();
    return TIMES + WAITS + OFTEN;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
