// Free ports of the loopback for programs that cannot take any free one, and that are started again on the same one.
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below those that Linux gives to connections (32768 on): one of those may be a client's own by the time a killed
 * server comes back to it.
 */
const [FIRST, COUNT] = [12_000, 20_000];

export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  await once(server.close(), "close");
  return true;
}
