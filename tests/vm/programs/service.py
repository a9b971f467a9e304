# SPDX-License-Identifier: Apache-2.0
"""service.py SOCKET: answers requests from memory, each client in a thread of its own.

A request is a line with the number of a block; the answer is a line with the CRC-32 of the block,
computed from the data at that time. Service.java is the same in Java.
"""

import socketserver
import sys
import zlib

BLOCKS, BLOCK = 64, 64 << 10


def block(number: int) -> bytes:
    return bytes((number + k) & 255 for k in range(256)) * (BLOCK // 256)


DATA = [block(number) for number in range(BLOCKS)]


class Client(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(b"%d\n" % zlib.crc32(DATA[int(line)]))


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


if __name__ == "__main__":
    Server(sys.argv[1], Client).serve_forever()
