// The real service on sockets of the file system: by curl, by the client, by commands; permissions, what a
// killed one leaves, two owners, an orderly end.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { TrustRankClient } from "@trustrank/client";
import { socketFetch } from "@trustrank/client/socket";
import { afterAll, describe, expect, test } from "vitest";
import { endAll, runCommand, startCommand } from "./_process.ts";
import { needs } from "../_needs.ts";

const ADMIN = "an-admin-secret-of-the-operator-0123456789";
const KEY = { TRUSTRANK_ADMIN_KEY: ADMIN };
const folder = fs.mkdtempSync("/tmp/trustrank-unix-");
const flagsOf = (name: string) => ["--no-sample", "--data-dir", join(folder, name)];

afterAll(async () => {
  await endAll();
  fs.rmSync(folder, { recursive: true, force: true });
});

interface Facts {
  url: string;
  sockets?: string[];
}

async function serve(name: string, flags: string[], environment: Record<string, string> = {}) {
  const started = startCommand(["serve", "--json", ...flagsOf(name), ...flags], {
    ...KEY,
    ...environment,
  });
  const facts = JSON.parse(await started.firstLine) as Facts;
  return { ...started, facts };
}

function statusOf(socketPath: string, path = "/livez"): Promise<number | string> {
  return new Promise((resolve) => {
    const sent = http.get({ socketPath, path, agent: false }, (reply) => {
      reply.resume().on("end", () => resolve(reply.statusCode ?? 0));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

/** Local addresses, as the kernel writes them, that a process listens on over TCP. */
function portsOf(pid: number): string[] {
  const files = fs.readdirSync(`/proc/${pid}/fd`).map((each) => `/proc/${pid}/fd/${each}`);
  const own = new Set(files.map((each) => (fs.existsSync(each) ? fs.readlinkSync(each) : "")));
  const isListening = "0A";
  return ["tcp", "tcp6"].flatMap((table) =>
    fs
      .readFileSync(`/proc/${pid}/net/${table}`, "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => {
        return state === isListening && own.has(`socket:[${inode}]`);
      })
      .map(([, address = ""]) => address),
  );
}

describe.each(["uws", "node"])("a service without a port, on %s", (adapter) => {
  const path = join(folder, `${adapter}.sock`);
  let service: Awaited<ReturnType<typeof serve>>;

  test("listens on its sockets alone, with the mode that was asked for", async () => {
    const second = join(folder, `${adapter}-2.sock`);
    const listen = ["--listen", `unix:${path}`, "--listen", `unix://${second}`];
    const flags = [...listen, "--socket-mode", "0600"];
    service = await serve(adapter, flags, { TRUSTRANK_HTTP_ADAPTER: adapter });
    expect(service.facts).toMatchObject({ url: `unix:${path}`, sockets: [path, second], adapter });
    expect([path, second].map((at) => fs.statSync(at).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(await Promise.all([path, second].map((at) => statusOf(at)))).toEqual([200, 200]);
    expect(portsOf(service.process.pid!)).toEqual([]);
  });

  test("answers curl", needs("curl"), () => {
    const asked = ["-s", "--unix-socket", path, "http://localhost/readyz"];
    const { stdout } = spawnSync("curl", asked, { encoding: "utf8" });
    expect(JSON.parse(stdout)).toMatchObject({ ready: true });
  });

  test("answers the client and commands", async () => {
    const fetch = socketFetch(path);
    const client = new TrustRankClient({ baseUrl: "http://localhost", apiKey: ADMIN, fetch });
    const unknown = { stakes: 1_000_000, timeoutMs: 5000 };
    expect((await client.check("agent://test/refuse", unknown)).allowed).toBe(false);
    const listed = await runCommand(["keys", "list"], { ...KEY, TRUSTRANK_URL: `unix:${path}` });
    expect([listed.code, listed.stderr]).toEqual([0, ""]);
    // Found by its directory, without an address.
    const found = await runCommand(["keys", "list", "--data-dir", join(folder, adapter)], KEY);
    expect(found.stderr).toContain(`the server at unix:${path} holds the data directory`);
    expect(found.stdout).toBe(listed.stdout);
  });

  test("does not let itself be replaced", async () => {
    const other = ["serve", ...flagsOf(`${adapter}-other`), "--listen", `unix:${path}`];
    const refused = await runCommand(other, KEY);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`cannot listen on \`unix:${path}\`: another process does`);
    expect(await statusOf(path)).toBe(200);
  });

  test("takes the place of one that was killed, and ends in order", async () => {
    service.process.kill("SIGKILL");
    await service.ended;
    expect(await statusOf(path)).toBe("ECONNREFUSED");
    service = await serve(adapter, ["--listen", `unix:${path}`], {
      TRUSTRANK_HTTP_ADAPTER: adapter,
    });
    expect(await statusOf(path)).toBe(200);
    expect(fs.statSync(path).mode & 0o777).toBe(0o660);
    service.process.kill("SIGTERM");
    expect((await service.ended).code).toBe(0);
    expect(await statusOf(path)).toBe("ENOENT");
  });
});

test("a socket beside a port shared by threads is the main thread's", async () => {
  const path = join(folder, "beside.sock");
  const listen = `127.0.0.1:0,unix:${path}`;
  const service = await serve("beside", ["--listen", listen, "--http-threads", "2"]);
  expect(service.facts.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const asked = Array.from({ length: 20 }, () => statusOf(path));
  expect(new Set(await Promise.all(asked))).toEqual(new Set([200]));
  expect((await fetch(`${service.facts.url}/livez`)).status).toBe(200);
  expect(portsOf(service.process.pid!)).toHaveLength(2);
  service.process.kill("SIGTERM");
  const ended = await service.ended;
  expect([ended.code, ended.stderr.includes("listener_open")]).toEqual([0, false]);
});

test("an address that others reach is warned of once", async () => {
  const service = await serve("open", ["--listen", "0.0.0.0:0", "--http-threads", "2"]);
  service.process.kill("SIGTERM");
  const { stderr } = await service.ended;
  expect(stderr.match(/"message":"listener_open","address":"0\.0\.0\.0"/g)).toHaveLength(1);
});

test("a path too long is refused before anything is made", async () => {
  const path = `unix:${join(folder, "x".repeat(120))}`;
  const refused = await runCommand(["serve", ...flagsOf("long"), "--listen", path], KEY);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(
    /--listen: `unix:.*` is \d+ bytes too long: the system takes at most/,
  );
  expect(fs.existsSync(join(folder, "long"))).toBe(false);
});

test("a group that does not exist is a usage error", async () => {
  const flags = ["--listen", `unix:${join(folder, "g.sock")}`, "--socket-group", "no-such-group"];
  const refused = await runCommand(["serve", ...flagsOf("group"), ...flags], KEY);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("there is no group")]);
});
