// The servers of a cluster by hand, as docs/operate/cluster.md has them: the commands of the page make files that the
// server takes, which let in the clients and routes that the servers' file of compose lets in.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { NATS_SERVER } from "../stream/_nats.ts";
import { needs } from "../_needs.ts";
import { ROOT } from "./_read-only.ts";

describe("a cluster by hand", needs("nats-server", "openssl"), () => {
  const folder = mkdtempSync(join(tmpdir(), "trustrank-by-hand-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const page = readFileSync(join(ROOT, "docs/operate/cluster.md"), "utf8");
  const place = join(folder, "cluster");
  const commands = /^## By hand\n[^]*?```sh\n([^]*?)```/m
    .exec(page)![1]!
    .replaceAll("/tmp/tr-cluster", place)
    // The test has programs of its own.
    .replace(/^export PATH=.*\n/m, "");

  test("has files that the server takes", () => {
    // In place of the server, what checks its file: ports of the page may be taken here.
    const programs = join(folder, "bin");
    mkdirSync(programs);
    const checking = `#!/bin/sh\nSERVER_NAME=x exec ${NATS_SERVER!} -t "$@"\n`;
    writeFileSync(join(programs, "nats-server"), checking, { mode: 0o755 });
    const PATH = `${programs}:${process.env["PATH"]}`;
    execFileSync("bash", ["-ec", `${commands}\nwait`], {
      cwd: ROOT,
      env: { ...process.env, PATH },
    });
    for (const index of [1, 2, 3]) {
      expect(readFileSync(join(place, `log-${index}.out`), "utf8")).toContain("is valid");
    }
    for (const name of ["bureau.key", "admin-key", "node.pem"]) {
      expect(readFileSync(join(place, "secrets", name), "utf8").length).toBeGreaterThan(0);
    }
  });

  test("lets nobody in whom the containers do not let in", () => {
    const pattern = /verify\w*: true|user: "?[\w-]+/g;
    const containers = readFileSync(join(ROOT, "deploy/nats/server.conf"), "utf8");
    const plain = (text: string) => text.replaceAll('"', "").match(pattern);
    expect(plain(commands)).toEqual(plain(containers));
    expect(plain(commands)).toHaveLength(3);
    expect(spawnSync("bash", ["-nc", commands]).status).toBe(0);
  });
});
