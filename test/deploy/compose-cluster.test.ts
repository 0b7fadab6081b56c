// The cluster of compose: what its nodes are told is what the service takes, its servers run from the very file
// that they are given, prove that they sync, and let in who shows a certificate; a server that stays unwell is ended.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { MESSAGE_BYTES_MAX } from "../../src/ledger/ordered/message.ts";
import { layerSettings } from "../../src/service/settings/config-file.ts";
import { parseServeConfig } from "../../src/service/settings/config.ts";
import { openNatsLog } from "../../src/stream/nats-log.ts";
import { verifyServers } from "../../src/stream/server-proof.ts";
import { WAIT_MS_MAX } from "../_patience.ts";
import { freePorts } from "../_ports.ts";
import { startUntilMet } from "../stream/_meeting.ts";
import { messageOf } from "../stream/_messages.ts";
import { NATS_SERVER } from "../stream/_nats.ts";
import { ROOT } from "./_read-only.ts";
import { needs } from "../_needs.ts";

interface Service {
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly secrets: readonly string[];
  readonly read_only: boolean;
  readonly entrypoint?: readonly string[];
  readonly ports?: readonly string[];
}

const DEPLOY = join(ROOT, "deploy");
const read = (name: string) => readFileSync(join(DEPLOY, name), "utf8");
const compose = parse(read("compose.cluster.yaml"), { merge: true }) as {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, object>;
};
const named = (prefix: string) =>
  Object.entries(compose.services).filter(([name]) => name.startsWith(prefix));
const folder = mkdtempSync(join(tmpdir(), "trustrank-compose-"));
const secrets = join(folder, "secrets");
const started: ChildProcess[] = [];
afterAll(async () => {
  await Promise.all(started.map(endNow));
  rmSync(folder, { recursive: true, force: true });
});

async function endNow(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  if (child.exitCode === null && child.signalCode === null && child.kill("SIGKILL")) await ended;
}

test("three nodes and three servers, each with volumes of its own, write to nothing else", () => {
  expect([named("node-").length, named("nats-").length]).toEqual([3, 3]);
  const mounts = Object.values(compose.services).flatMap(({ volumes }) => volumes);
  const written = mounts
    .filter((mount) => !mount.endsWith(":ro"))
    .map((mount) => mount.split(":")[0]!);
  expect(written.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
  for (const mount of mounts.filter((each) => each.endsWith(":ro"))) {
    expect(statSync(join(DEPLOY, mount.split(":")[0]!)).isDirectory()).toBe(true);
  }
  for (const [, service] of Object.entries(compose.services)) {
    expect(service.read_only).toBe(true);
    for (const name of service.secrets) expect(Object.keys(compose.secrets)).toContain(name);
  }
});

test("the secrets are those that the script makes, once", needs("openssl"), () => {
  const make = () => execFileSync("bash", [join(DEPLOY, "cluster-secrets.sh"), secrets]);
  make();
  const files = Object.values(compose.secrets).map(({ file }) => file);
  for (const file of files) expect(existsSync(join(folder, file)), file).toBe(true);
  const contents = () => files.map((file) => readFileSync(join(folder, file), "utf8"));
  const before = contents();
  make();
  expect(contents()).toEqual(before);
  expect(statSync(secrets).mode & 0o777).toBe(0o700);
});

test("nodes are told of one cluster, under names of their own, in settings that the service takes", () => {
  const place = (value: string) => {
    const name = /^\/run\/secrets\/(\w+)$/.exec(value)?.[1];
    return name === undefined ? value : join(folder, compose.secrets[name]!.file);
  };
  const clusters = named("node-").map(([name, { environment, secrets: given, entrypoint }]) => {
    const asked = Object.entries(environment).map(([key, value]) => [key, place(value)] as const);
    const { environment: whole } = layerSettings(Object.fromEntries(asked), undefined);
    const { cluster, adminKey } = parseServeConfig({ sample: false }, whole);
    expect(adminKey).toMatch(/^[0-9a-f]{64}$/);
    expect(cluster!.node).toBe(name);
    const mounted = Object.values(environment).flatMap(
      (value) => /^\/run\/secrets\/(\w+)$/.exec(value)?.[1] ?? [],
    );
    expect(given.toSorted()).toEqual([...new Set([...mounted, "bureau_key"])].toSorted());
    expect(entrypoint!.at(-1)).toContain("/run/secrets/bureau_key bureau.key");
    return { ...cluster!, node: "" };
  });
  expect(clusters[1]).toEqual(clusters[0]);
  expect(clusters[2]).toEqual(clusters[0]);
  const names = named("nats-").map(([name]) => name);
  expect(clusters[0]!.servers).toEqual(names.map((name) => `${name}:4222`));
  expect(clusters[0]!.monitors).toEqual(names.map((name) => `http://${name}:8222`));
  const maxFile = Number(/max_file: (\d+)GB/.exec(read("nats/server.conf"))?.[1]) * 1e9;
  expect(maxFile).toBeGreaterThan(clusters[0]!.streamBytesMax);
});

test("a node starts as the image does, with the cluster's key where it has none", () => {
  const [, { entrypoint }] = named("node-")[0]!;
  const dockerfile = read("Dockerfile");
  const [, image] = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)!;
  expect(entrypoint!.at(-1)!.replaceAll(/\s+/g, " ")).toContain(
    `exec ${(JSON.parse(image!) as string[]).join(" ")} serve`,
  );
});

test(
  "a server that is unwell for six looks is ended, one that recovers is not",
  needs("wget"),
  async () => {
    const sleeper = spawn("sleep", ["60"]);
    started.push(sleeper);
    const env = {
      ...process.env,
      HEALTH_URL: "http://127.0.0.1:1/healthz",
      HEALTH_COUNT: join(folder, "unwell"),
      SERVER_PID: String(sleeper.pid),
    };
    const look = (changes = {}) =>
      spawnSync("sh", [join(DEPLOY, "nats/health.sh")], { env: { ...env, ...changes } }).status;
    for (let looks = 1; looks <= 5; looks++) expect(look()).toBe(1);
    const page = createServer((socket) => {
      socket.end("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    });
    await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
    const { port } = page.address() as { port: number };
    const well = spawn("sh", [join(DEPLOY, "nats/health.sh")], {
      env: { ...env, HEALTH_URL: `http://127.0.0.1:${port}/healthz` },
    });
    expect(await once(well, "exit")).toEqual([0, null]);
    page.close();
    for (let looks = 1; looks <= 5; looks++) expect(look()).toBe(1);
    expect(sleeper.signalCode).toBeNull();
    const ended = once(sleeper, "exit");
    expect(look()).toBe(1);
    expect(await ended).toEqual([null, "SIGTERM"]);
  },
);

const ELECTION = { timeout: WAIT_MS_MAX, interval: 200 };

describe("the servers", needs("nats-server"), () => {
  test("run from their file, sync, and take a message from a node with its certificate alone", async () => {
    const ports = await freePorts(9);
    const at = (index: number, which: number) => ports[index * 3 + which]!;
    const files = [0, 1, 2].map((index) => {
      // Names and places of the containers, on this machine.
      let text = read("nats/server.conf")
        .replace("0.0.0.0:4222", `127.0.0.1:${at(index, 0)}`)
        .replace("0.0.0.0:8222", `127.0.0.1:${at(index, 1)}`)
        .replace("0.0.0.0:6222", `127.0.0.1:${at(index, 2)}`)
        .replace("/data", join(folder, `data-${index}`));
      for (const other of [0, 1, 2]) {
        text = text.replace(`nats-${other + 1}:6222`, `127.0.0.1:${at(other, 2)}`);
      }
      text = text.replaceAll(/\/run\/secrets\/(\w+)/g, (_, name: string) =>
        join(folder, compose.secrets[name]!.file),
      );
      const file = join(folder, `${index}.conf`);
      writeFileSync(file, text);
      return file;
    });
    const monitors = [0, 1, 2].map((index) => `http://127.0.0.1:${at(index, 1)}`);
    let servers: ChildProcess[] = [];
    await startUntilMet({
      monitors,
      start: () => {
        servers = files.map((file, index) => {
          const argv = ["--pdeathsig", "KILL", "--", NATS_SERVER!, "--config", file];
          const env = { ...process.env, SERVER_NAME: `nats-${index + 1}` };
          return spawn("setpriv", argv, { env, stdio: "ignore" });
        });
        started.push(...servers);
      },
      clear: async () => {
        await Promise.all(servers.map(endNow));
        for (const index of [0, 1, 2]) {
          rmSync(join(folder, `data-${index}`), { recursive: true, force: true });
        }
      },
    });
    const isWell = async (url: string) =>
      (await fetch(`${url}/healthz`).catch(() => undefined))?.ok;
    for (const monitor of monitors) {
      await expect.poll(() => isWell(monitor), { timeout: 30_000, interval: 100 }).toBe(true);
    }
    await verifyServers(monitors, MESSAGE_BYTES_MAX, (_, error) => {
      throw error;
    });
    const tls = {
      caFile: join(secrets, "ca.pem"),
      certFile: join(secrets, "node.pem"),
      keyFile: join(secrets, "node.key"),
    };
    const settings = {
      servers: [0, 1, 2].map((index) => `127.0.0.1:${at(index, 0)}`),
      name: "test",
      bytesMax: 64 * 1024 * 1024,
      log: () => undefined,
    };
    // Healthy servers may still be electing the leader that places streams.
    const log = await vi.waitFor(() => openNatsLog({ ...settings, tls }), ELECTION);
    expect(await log.append(messageOf(1), 10_000)).toBe(1);
    await log.close();
    for (const index of [0, 1, 2]) {
      const socket = connect(at(index, 0), "127.0.0.1");
      const [bytes] = (await once(socket, "data")) as [Buffer];
      socket.destroy();
      const info = JSON.parse(bytes.toString().replace(/^INFO /, "")) as object;
      expect(info).toMatchObject({ tls_required: true, tls_verify: true });
    }
  });
});
