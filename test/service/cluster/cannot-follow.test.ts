// A start that cannot follow its cluster's log: it says what it waits for, holds no lease meanwhile, and ends with a
// sentence and exit code 1, which a supervisor starts again.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { endAll, startCommand } from "../../cli/_process.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { type Servers, type ServersOptions, startServers } from "../../stream/_nats.ts";
import { needs } from "../../_needs.ts";

/** May do all but append to the log. */
const MUTE = `authorization { users: [{ user: mute, password: mute, permissions: { publish: { deny: ["trustrank.p0.>"] } } }] }
no_auth_user: mute`;
const START_SEC = 12;

describe("a start that cannot follow the log", needs("nats-server"), () => {
  let servers: Servers | undefined;
  afterEach(async () => {
    await endAll();
    await servers?.stop();
    servers = undefined;
  });

  function start(dataDir: string, node: string, environment: Record<string, string> = {}) {
    const flags = ["--port", "0", "--json", "--no-sample", "--data-dir", dataDir];
    return startCommand(["serve", ...flags], {
      TRUSTRANK_CLUSTER: servers!.addresses.join(","),
      TRUSTRANK_CLUSTER_MONITOR: servers!.monitors[0]!,
      TRUSTRANK_CLUSTER_NODE: node,
      TRUSTRANK_CLUSTER_STREAM_GB: "1",
      TRUSTRANK_CLUSTER_START_SEC: `${START_SEC}`,
      TRUSTRANK_LOG_FORMAT: "json",
      ...environment,
    });
  }

  test("ends where nothing acknowledges its messages, and takes no job", async () => {
    const options = { more: "" } satisfies ServersOptions;
    servers = await startServers(options);
    const [first, second] = [temporaryDirectory(), temporaryDirectory()];
    const one = start(first, "one");
    await one.firstLine;
    one.process.kill("SIGTERM");
    expect((await one.ended).code).toBe(0);
    options.more = MUTE;
    await servers.kill(0);
    servers.start(0);
    await servers.ready();
    copyFileSync(join(first, "bureau.key"), join(second, "bureau.key"));
    const begunMs = performance.now();
    const { code, stderr } = await start(second, "two").ended;
    expect(performance.now() - begunMs).toBeGreaterThan(START_SEC * 1000);
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(
      /cannot follow the log of its cluster: 12 s without progress \(TRUSTRANK_CLUSTER_START_SEC\), no majority .* acknowledges .*`curl -s http:.*healthz/,
    );
    const waiting = stderr.split("\n").filter((line) => line.includes('"cluster_waiting"'));
    expect(waiting).toHaveLength(1);
    expect(JSON.parse(waiting[0]!)).toMatchObject({ connected: true, leader_known: false });
    expect(stderr).not.toContain("lease_taken");
  }, 90_000);

  test("ends where its servers have no majority", async () => {
    servers = await startServers({ size: 3 });
    await servers.kill(1);
    await servers.kill(2);
    const { code, stderr } = await start(temporaryDirectory(), "one").ended;
    expect(code, stderr).toBe(1);
    expect(stderr).toContain('"cluster_waiting"');
    expect(stderr).toMatch(/the ordered log is not to be had: .*; see that most .*healthz/);
    const sooner = { TRUSTRANK_CLUSTER_START_SEC: "5" };
    const early = await start(temporaryDirectory(), "one", sooner).ended;
    expect(early.code, early.stderr).toBe(1);
    expect(early.stderr).toMatch(
      /no answer for 5 s \(TRUSTRANK_CLUSTER_START_SEC\); see that most/,
    );
  }, 90_000);

  test("ends where most of its servers are down, which may come back", async () => {
    servers = await startServers();
    const [up] = servers.monitors as [string];
    const environment = {
      TRUSTRANK_CLUSTER_MONITOR: `${up},http://127.0.0.1:9,http://127.0.0.1:19`,
    };
    const { code, stderr } = await start(temporaryDirectory(), "one", environment).ended;
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(/127\.0\.0\.1:9\/varz does not answer/);
  }, 60_000);
});
