// Probe of a port that several threads will share: sharing it would succeed beside any other
// program that shares it too, a second copy of this service among them.
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

/**
 * Binds the port exclusively, closes it and returns its number; 0 takes any free one. Rejects when
 * it is taken.
 */
export function probePort(host: string, port: number): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "EADDRINUSE" ? "is the port taken?" : error.message;
      reject(new Error(`cannot listen on \`${host}:${port}\`: ${why}`));
    });
    server.listen({ host, port, exclusive: true }, () => {
      const { port: found } = server.address() as AddressInfo;
      server.close(() => resolve(found));
    });
  });
}
