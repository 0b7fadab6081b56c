// A connection to the log's servers over a clock that is set back: the client looks at the system's clock for its next try.
import { afterEach, describe, expect, test } from "vitest";
import { connectToServers } from "../../src/stream/nats-connection.ts";
import { needs } from "../_needs.ts";
import { type Servers, startServers } from "./_nats.ts";

const HOUR_MS = 3_600_000;
const now = Date.now.bind(Date);

describe("a connection", needs("nats-server"), () => {
  let servers: Servers | undefined;

  afterEach(async () => {
    Date.now = now;
    await servers?.stop();
  });

  test("comes back though the clock was an hour ahead while it looked for a server", async () => {
    servers = await startServers();
    const connection = await connectToServers({ servers: servers.addresses });
    await servers.kill(0);
    Date.now = () => now() + HOUR_MS;
    const lastTryMs = () => Math.max(...connection.getServers().map((each) => each.lastConnect));
    await expect.poll(lastTryMs).toBeGreaterThan(now() + HOUR_MS / 2);
    Date.now = now;
    servers.start(0);
    const answers = () => connection.rtt().then(Number.isFinite, () => false);
    await expect.poll(answers, { timeout: 15_000 }).toBe(true);
    expect(lastTryMs()).toBeLessThanOrEqual(now());
    await connection.close();
  });
});
