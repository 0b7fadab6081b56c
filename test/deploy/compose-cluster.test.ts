// The cluster of compose: what its nodes are told is what the service takes, its servers run from the very file
// that they are given, prove that they sync, let in the certificate of a node as a client and that of a server as a route
// and nobody else, and are joined by a node; a server that stays unwell is ended.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { MESSAGE_BYTES_MAX } from "../../src/ledger/ordered/message.ts";
import { layerSettings } from "../../src/service/settings/config-file.ts";
import { parseServeConfig } from "../../src/service/settings/config.ts";
import { openNatsLog } from "../../src/stream/nats-log.ts";
import { verifyServers } from "../../src/stream/server-proof.ts";
import { WAIT_MS_MAX } from "../_patience.ts";
import { ENTRY } from "../cli/_process.ts";
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

describe("the servers", needs("nats-server", "openssl"), () => {
  const SERVERS = [0, 1, 2];
  let ports: number[];
  const at = (index: number, which: number) => ports[index * 3 + which]!;
  const addresses = () => SERVERS.map((index) => `127.0.0.1:${at(index, 0)}`);
  const monitors = () => SERVERS.map((index) => `http://127.0.0.1:${at(index, 1)}`);
  const certificate = (name: string, folderOf = secrets) => ({
    caFile: join(folderOf, "ca.pem"),
    certFile: join(folderOf, `${name}.pem`),
    keyFile: join(folderOf, `${name}.key`),
  });
  const settings = (tls: ReturnType<typeof certificate>) => ({
    servers: addresses(),
    tls,
    name: "test",
    bytesMax: 64 * 1024 * 1024,
    log: () => undefined,
  });

  /** The servers' file with names and places of the containers on this machine. */
  function writeServerFile(name: string, own: readonly number[]): string {
    const places = ["4222", "8222", "6222"];
    let text = read("nats/server.conf").replace('"/data"', JSON.stringify(join(folder, name)));
    for (const [which, place] of places.entries()) {
      text = text.replace(`0.0.0.0:${place}`, `127.0.0.1:${own[which]}`);
    }
    for (const other of SERVERS) {
      text = text.replace(`nats-${other + 1}:6222`, `localhost:${at(other, 2)}`);
    }
    text = text.replaceAll(/\/run\/secrets\/(\w+)/g, (_, secret: string) =>
      join(folder, compose.secrets[secret]!.file),
    );
    const file = join(folder, `${name}.conf`);
    writeFileSync(file, text);
    return file;
  }

  function startServer(name: string, file: string): ChildProcess {
    const argv = ["--pdeathsig", "KILL", "--", NATS_SERVER!, "--config", file];
    const env = { ...process.env, SERVER_NAME: name };
    const server = spawn("setpriv", argv, { env, stdio: "ignore" });
    started.push(server);
    return server;
  }

  beforeAll(async () => {
    execFileSync("bash", [join(DEPLOY, "cluster-secrets.sh"), secrets]);
    ports = await freePorts(9);
    const names = SERVERS.map((index) => `nats-${index + 1}`);
    const files = names.map((name, index) =>
      writeServerFile(name, [at(index, 0), at(index, 1), at(index, 2)]),
    );
    let servers: ChildProcess[] = [];
    await startUntilMet({
      monitors: monitors(),
      start: () => {
        servers = names.map((name, index) => startServer(name, files[index]!));
      },
      clear: async () => {
        await Promise.all(servers.map(endNow));
        for (const name of names) rmSync(join(folder, name), { recursive: true, force: true });
      },
    });
    const isWell = async (url: string) =>
      (await fetch(`${url}/healthz`).catch(() => undefined))?.ok;
    for (const monitor of monitors()) {
      await vi.waitFor(async () => {
        if (!(await isWell(monitor))) throw new Error(`${monitor} is not well`);
      }, ELECTION);
    }
  }, 120_000);

  test("run from their file, sync, and take a message from a node with its certificate alone", async () => {
    await verifyServers(monitors(), MESSAGE_BYTES_MAX, (_, error) => {
      throw error;
    });
    // Healthy servers may still be electing the leader that places streams.
    const open = () => openNatsLog(settings(certificate("node")));
    const log = await vi.waitFor(open, ELECTION);
    expect(await log.append(messageOf(1), 10_000)).toBe(1);
    await log.close();
    for (const index of SERVERS) {
      const socket = connect(at(index, 0), "127.0.0.1");
      const [bytes] = (await once(socket, "data")) as [Buffer];
      socket.destroy();
      const info = JSON.parse(bytes.toString().replace(/^INFO /, "")) as object;
      expect(info).toMatchObject({ tls_required: true, tls_verify: true });
    }
  });

  test("refuse as a client whoever shows another certificate than a node's", async () => {
    const others = join(folder, "others");
    execFileSync("bash", [join(DEPLOY, "cluster-secrets.sh"), others]);
    const { caFile } = certificate("node");
    const foreign = { ...certificate("node", others), caFile };
    for (const index of SERVERS) {
      for (const tls of [certificate("server"), foreign, { caFile }]) {
        expect(await isAdmitted(at(index, 0), tls)).toBe(false);
      }
      expect(await isAdmitted(at(index, 0), certificate("node"))).toBe(true);
    }
  });

  test("say to a node with a certificate that is not a node's that it is refused", async () => {
    const opened = openNatsLog(settings(certificate("server")));
    await expect(opened).rejects.toThrow(/certificate.*TRUSTRANK_CLUSTER_CERT/);
  });

  test("refuse a node's certificate from a server that would join them", async () => {
    const file = writeServerFile("rogue", await freePorts(3));
    const text = readFileSync(file, "utf8");
    writeFileSync(
      file,
      text.replaceAll("server.pem", "node.pem").replaceAll("server.key", "node.key"),
    );
    const output = join(folder, "rogue.out");
    writeFileSync(file, `log_file: ${JSON.stringify(output)}\n${readFileSync(file, "utf8")}`);
    const rogue = startServer("rogue", file);
    const said = () => (existsSync(output) ? readFileSync(output, "utf8") : "");
    await expect
      .poll(said, { timeout: 30_000, interval: 100 })
      .toContain("Route connection created");
    for (const monitor of monitors()) {
      const { routes } = (await (await fetch(`${monitor}/routez`)).json()) as {
        routes: { remote_name: string }[];
      };
      const met = new Set(routes.map(({ remote_name: name }) => name));
      expect([...met].toSorted()).not.toContain("rogue");
      expect(met.size).toBe(2);
    }
    await endNow(rogue);
  });

  test("are joined by a node that has its certificate, and it records", async () => {
    const [port] = await freePorts(1);
    const dataDir = join(folder, "node-1");
    mkdirSync(dataDir);
    copyFileSync(join(secrets, "bureau.key"), join(dataDir, "bureau.key"));
    const { caFile, certFile, keyFile } = certificate("node");
    const adminKey = readFileSync(join(secrets, "admin-key"), "utf8").trim();
    const argv = [ENTRY, "serve", "--port", `${port}`, "--data-dir", dataDir];
    const node = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...argv], {
      cwd: ROOT,
      env: {
        ...process.env,
        TRUSTRANK_ADMIN_KEY: adminKey,
        TRUSTRANK_CLUSTER: addresses().join(","),
        TRUSTRANK_CLUSTER_MONITOR: monitors().join(","),
        TRUSTRANK_CLUSTER_NODE: "node-1",
        TRUSTRANK_CLUSTER_STREAM_GB: "1",
        TRUSTRANK_CLUSTER_CA: caFile,
        TRUSTRANK_CLUSTER_CERT: certFile,
        TRUSTRANK_CLUSTER_KEY: keyFile,
      },
      stdio: "ignore",
    });
    started.push(node);
    const url = `http://127.0.0.1:${port}`;
    const body = JSON.stringify({
      subject: "agent://shop/seller",
      reporter: "agent://shop/buyer",
      outcome: 1,
      grade: "escrow",
      stakes: 5,
    });
    const headers = {
      authorization: `Bearer ${adminKey}`,
      "content-type": "application/json",
      "idempotency-key": "order-1",
    };
    const report = () =>
      fetch(`${url}/v1/outcomes`, { method: "POST", headers, body }).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(report, { timeout: 60_000, interval: 200 }).toBeOneOf([200, 201]);
    await endNow(node);
  });
});

/** Whether a server answers `PING` to a client that shows this certificate, or none. */
async function isAdmitted(
  port: number,
  files: { caFile: string; certFile?: string; keyFile?: string },
): Promise<boolean> {
  const plain = connect(port, "127.0.0.1");
  await once(plain, "data");
  const socket = connectTls({
    socket: plain,
    host: "127.0.0.1",
    ca: readFileSync(files.caFile),
    ...(files.certFile && { cert: readFileSync(files.certFile) }),
    ...(files.keyFile && { key: readFileSync(files.keyFile) }),
  });
  socket.on("error", () => undefined);
  const ended = new Promise<boolean>((resolve) => socket.once("close", () => resolve(false)));
  socket.write('CONNECT {"verbose":false,"tls_required":true}\r\nPING\r\n');
  const ponged = new Promise<boolean>((resolve) => {
    let text = "";
    socket.on("data", (bytes: Buffer) => {
      text += bytes.toString();
      if (/^(PONG|-ERR)/m.test(text)) resolve(!text.includes("-ERR"));
    });
  });
  const isIn = await Promise.race([ponged, ended]);
  socket.destroy();
  return isIn;
}
