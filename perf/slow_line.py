"""A TCP proxy that delays what it passes on: half of the delay each way, so that a round trip takes the whole longer.

`python -m perf.slow_line TARGET_PORT DELAY_MS`, on loopback; prints the port on which it listens.
"""

from __future__ import annotations

import asyncio
import sys

_CHUNK = 256 * 1024


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Every byte arrives so much later; none waits for another's delay."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        while True:
            due, data = await arrived.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not data:
                return
            writer.write(data)
            await writer.drain()

    delivery = asyncio.create_task(deliver())
    try:
        while data := await reader.read(_CHUNK):
            arrived.put_nowait((loop.time() + delay_s, data))
        arrived.put_nowait((loop.time() + delay_s, b""))
        await delivery
    except OSError:
        delivery.cancel()
    finally:
        writer.close()


async def serve(target_port: int, delay_s: float) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target_port)
        await asyncio.gather(_pass_on(reader, far_writer, delay_s / 2), _pass_on(far_reader, writer, delay_s / 2))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]) / 1000))
