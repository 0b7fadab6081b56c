// Process that holds a lease until it is ended: it says so, and every 200 ms whether it still does.
import { openNatsLog } from "../../src/stream/nats-log.ts";

const [server, name, job] = process.argv.slice(2) as [string, string, string];
const log = await openNatsLog({
  servers: [server],
  name,
  bytesMax: 64 * 1024 * 1024,
  log: () => undefined,
});
const lease = await log.acquireLease(job);
process.stdout.write(`${lease === undefined ? "refused" : `token ${lease.token}`}\n`);
setInterval(() => process.stdout.write(`${lease?.isHeld}\n`), 200);
