// Limits that unit and image set, and those of the service itself: every connection that it would take has a
// descriptor, its own files keep far below what is reserved for them, and no core is written.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { DRAIN_MS } from "../../src/contract/setting-defaults.ts";
import { HTTP_THREADS_MAX } from "../../src/threads/scoring/modes.ts";
import { computeConnectionsMax } from "../../src/service/connection-limits.ts";
import { endAll, startCommand } from "../cli/_process.ts";
import { ROOT } from "./_read-only.ts";

const UNIT = readFileSync(join(ROOT, "deploy/systemd/trustrank.service"), "utf8");
const { services } = parse(readFileSync(join(ROOT, "deploy/compose.yaml"), "utf8")) as {
  services: Record<
    "trustrank",
    { ulimits: { nofile: number; core: number }; stop_grace_period: string }
  >;
};
const unitNumber = (name: string) => Number(new RegExp(`^${name}=(\\d+)$`, "m").exec(UNIT)?.[1]);
/** Connections that the service takes of its own accord (docs/reference/bounds.md). */
const CONNECTIONS = 20_000;
/** Pools beside the HTTP threads, on a large machine; gRPC and sockets of the file system. */
const POOL_THREADS = 64;
const OTHERS = 512;

const folder = mkdtempSync("/tmp/trustrank-limits-");
afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ["the unit", unitNumber("LimitNOFILE")],
  ["the image", services.trustrank.ulimits.nofile],
])("%s has descriptors for as many connections as the service takes", (_, descriptors) => {
  const threads = HTTP_THREADS_MAX + POOL_THREADS;
  expect(computeConnectionsMax(undefined, descriptors, threads, OTHERS)).toBe(CONNECTIONS);
});

test("neither writes a core, which would hold keys; both let it drain and end in order", () => {
  expect([unitNumber("LimitCORE"), services.trustrank.ulimits.core]).toEqual([0, 0]);
  const seconds = Number.parseInt(services.trustrank.stop_grace_period, 10);
  // The window, the 10 s in which it ends after that, and some.
  const needed = DRAIN_MS / 1000 + 15;
  expect([unitNumber("TimeoutStopSec"), seconds]).toEqual([needed, needed]);
});

test("a service at rest needs half of what is reserved for it, and one descriptor a connection", async () => {
  const server = startCommand(
    ["serve", "--json", "--port", "0", "--data-dir", join(folder, "data")],
    { TRUSTRANK_ADMIN_KEY: "an-admin-secret-of-the-operator-0123456789" },
  );
  const { url } = JSON.parse(await server.firstLine) as { url: string };
  const open = () => readdirSync(`/proc/${server.process.pid}/fd`).length;
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const before = open();
  // 192 for files, 6 for each thread besides: src/service/connection-limits.ts.
  expect(before).toBeLessThan(100);
  const sockets = Array.from({ length: 50 }, () =>
    net.connect(Number(new URL(url).port), "127.0.0.1"),
  );
  await expect.poll(() => open() - before).toBeGreaterThanOrEqual(48);
  expect(open() - before).toBeLessThanOrEqual(54);
  for (const socket of sockets) socket.destroy();
  await expect.poll(open).toBeLessThanOrEqual(before + 4);
  server.process.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
});

test("npm start, the unit and the image keep one number of pools of free memory", () => {
  const numberIn = (path: string) =>
    /\bMALLOC_ARENA_MAX=(?:\$\{MALLOC_ARENA_MAX:-)?(\d+)/.exec(
      readFileSync(join(ROOT, path), "utf8"),
    )?.[1];
  expect(numberIn("package.json")).toBe("2");
  expect(numberIn("deploy/systemd/trustrank.service")).toBe("2");
  expect(numberIn("deploy/Dockerfile")).toBe("2");
});
