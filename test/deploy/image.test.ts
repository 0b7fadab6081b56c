// The image: what its Dockerfile says is run here as it says it, without a container engine.
import { readFileSync } from "node:fs";
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { freePort } from "../_ports.ts";
import { heard, openSandbox, ROOT, SANDBOX, UID } from "./_read-only.ts";

const DOCKERFILE = readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8").replaceAll("\\\n", " ");
const COMPOSE = parse(readFileSync(join(ROOT, "deploy/compose.yaml"), "utf8")) as {
  services: Record<
    string,
    {
      volumes?: string[];
      read_only?: boolean;
      build?: object;
      environment?: Record<string, string>;
      ports?: string[];
    }
  >;
  volumes: object;
};
const KEY = "image-admin-key-0123456789-abcdefghijk";

/** Parameters of the last instruction of this name. */
function instruction(name: string): string {
  const found = DOCKERFILE.split("\n").findLast((line) => line.trimStart().startsWith(`${name} `));
  return found?.slice(found.indexOf(name) + name.length).trim() ?? "";
}

const environment = Object.fromEntries(
  instruction("ENV")
    .split(/\s+/)
    .map((pair) => pair.split("=", 2) as [string, string]),
);
const argv = (JSON.parse(instruction("ENTRYPOINT")) as string[]).concat(
  JSON.parse(instruction("CMD")) as string[],
);
/** The check stands on a line of its own, indented: the last CMD before the entry. */
const health = JSON.parse(/HEALTHCHECK [^[]*CMD (\[.*\])/.exec(DOCKERFILE)![1]!) as string[];

test("names a user without rights, one volume and the signal that drains", () => {
  expect(instruction("USER")).toBe(`${UID}:${UID}`);
  expect(instruction("VOLUME")).toBe(environment["TRUSTRANK_DATA_DIR"]);
  expect(instruction("STOPSIGNAL")).toBe("SIGTERM");
});

describe("runs read-only", SANDBOX, () => {
  const sandbox = openSandbox({
    command: "/opt/trustrank",
    data: environment["TRUSTRANK_DATA_DIR"]!,
  });
  afterAll(() => sandbox.remove());

  test("becomes healthy, writes to its volume alone, and ends in order", async () => {
    const settings = {
      ...environment,
      TRUSTRANK_PORT: String(await freePort()),
      TRUSTRANK_ADMIN_KEY: KEY,
      TRUSTRANK_DRAIN_MS: "0",
    };
    const service = sandbox.start(argv, settings);
    const { ended, text } = heard(service);
    const isHealthy = async () => (await heard(sandbox.start(health, settings)).ended) === 0;
    await expect.poll(isHealthy, { interval: 200 }).toBe(true);
    expect(statSync(join(sandbox.dataDir, "journal")).uid).toBe(UID);
    service.kill("SIGTERM");
    expect(await ended, text()).toBe(0);
    expect(text()).not.toMatch(/EROFS|EACCES|read-only/i);
    expect(await isHealthy()).toBe(false);
  });
});

describe("its console", SANDBOX, () => {
  const sandbox = openSandbox({
    command: "/opt/trustrank",
    data: environment["TRUSTRANK_DATA_DIR"]!,
  });
  afterAll(() => sandbox.remove());

  test("opens by the link in compose's log, at the published port alone", async () => {
    const { environment: settings, ports } = COMPOSE.services["trustrank"]!;
    expect(ports).toEqual(["127.0.0.1:8080:8080"]);
    const port = String(await freePort());
    const keyFile = "TRUSTRANK_ADMIN_KEY_FILE";
    const { [keyFile]: file, TRUSTRANK_METRICS_LISTEN: _, ...others } = settings!;
    expect(file).toBe("/run/secrets/admin_key");
    const service = sandbox.start(argv, {
      ...environment,
      ...others,
      TRUSTRANK_PORT: port,
      TRUSTRANK_ADMIN_KEY: KEY,
    });
    const { ended, text } = heard(service);
    await expect.poll(text).toMatch(/^try it/m);
    const base = `http://127.0.0.1:${port}`;
    expect((await fetch(`${base}/console`)).status).toBe(200);
    const token = new RegExp(`${base}/console#login=(\\S+)`).exec(text())?.[1];
    const headers = { "content-type": "application/json", origin: base };
    const body = JSON.stringify({ token });
    const logIn = () => fetch(`${base}/console/session`, { method: "POST", headers, body });
    expect((await logIn()).status).toBe(200);
    expect((await logIn()).status).toBe(401);
    // Neither the sample nor the test agents are there.
    expect(text()).toContain('"agent_id":"agent://example/first-agent"');
    expect(text()).not.toContain(KEY);
    service.kill("SIGTERM");
    expect(await ended, text()).toBe(0);
  });
});

test("compose names files that are there, and mounts nothing to write but volumes", () => {
  const { services, volumes } = COMPOSE;
  expect(services["trustrank"]).toMatchObject({
    read_only: true,
    build: { context: "..", dockerfile: "deploy/Dockerfile" },
  });
  for (const { volumes: mounts = [] } of Object.values(services)) {
    for (const mount of mounts) {
      const [from = "", , mode] = mount.split(":");
      if (!from.startsWith(".")) expect(Object.keys(volumes)).toContain(from);
      else {
        expect(statSync(join(ROOT, "deploy", from)).isDirectory(), from).toBe(true);
        expect(mode).toBe("ro");
      }
    }
  }
});
