// SPDX-License-Identifier: Apache-2.0
// Service SOCKET: answers requests from memory, each client in a thread of its own.
//
// A request is a line with the number of a block; the answer is a line with the CRC-32 of the block,
// computed from the data at that time. service.py is the same in Python.
import java.io.BufferedReader;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

final class Service {
    private static final int BLOCKS = 64;
    private static final int BLOCK = 64 << 10;
    private static final byte[][] DATA = new byte[BLOCKS][BLOCK];

    public static void main(String[] arguments) throws IOException {
        for (int number = 0; number < BLOCKS; number++) {
            for (int k = 0; k < BLOCK; k++) {
                DATA[number][k] = (byte) (number + k);
            }
        }
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(arguments[0]));
        while (true) {
            SocketChannel client = server.accept();
            Thread thread = new Thread(() -> answer(client));
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static void answer(SocketChannel client) {
        try (client) {
            BufferedReader requests = new BufferedReader(
                    Channels.newReader(client, StandardCharsets.US_ASCII));
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                CRC32 sum = new CRC32();
                sum.update(DATA[Integer.parseInt(line)]);
                byte[] text = (sum.getValue() + "\n").getBytes(StandardCharsets.US_ASCII);
                client.write(ByteBuffer.wrap(text));
            }
        } catch (IOException error) {
            // The client has gone.
        }
    }
}
