// A port that several threads will share, looked at before they do: sharing it would succeed beside
// any other program that shares it too, a second copy of this service among them.
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

/** Binds the port alone and lets it go; 0 takes any free one. Rejects when it is taken. */
export function findPort(host: string, port: number): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => {
      const { port: found } = server.address() as AddressInfo;
      server.close(() => resolve(found));
    });
  });
}
