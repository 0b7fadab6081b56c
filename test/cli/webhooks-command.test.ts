// `trustrank webhooks` as operators use it, through the server that holds the directory, with a receiver
// that verifies.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openReceiver } from "../webhooks/_receiver.ts";
import { endAll, runCommand, startCommand } from "./_process.ts";

const KEY = "webhooks-command-admin-key-0123456789abcdef";
const folder = mkdtempSync(join(tmpdir(), "trustrank-webhooks-"));
const AT = ["--data-dir", join(folder, "data")];

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...parameters: string[]) =>
  runCommand(["webhooks", ...parameters, ...AT], { TRUSTRANK_KEY: KEY });

it("adds, lists, tests, stops and removes an endpoint of a running server", async () => {
  const alone = await run("list");
  expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining("no server holds")]);

  const receiver = await openReceiver();
  const server = startCommand(["serve", "--port", "0", "--no-sample", "--json", ...AT], {
    TRUSTRANK_ADMIN_KEY: KEY,
    TRUSTRANK_WEBHOOK_ALLOW: "127.0.0.1",
  });
  await server.firstLine;
  const refused = await run("add", "http://10.0.0.1/");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("private address")]);
  const added = await run("add", receiver.url, "--events", "decision.denied, key.revoked");
  expect(added.stderr).toContain("decision.denied, key.revoked; its secret, shown once:");
  receiver.secret = added.stdout.trim();
  expect(receiver.secret).toMatch(/^whsec_/);
  const [, id = ""] = /endpoint (wh_[0-9a-f]+) /.exec(added.stderr) ?? [];
  expect((await run("list")).stdout).toMatch(new RegExp(`^${id} .*\\(all\\) .*enabled`, "m"));

  const tested = await run("test", id);
  expect([tested.code, tested.stdout]).toEqual([0, expect.stringMatching(/^delivered: .* 204 in/)]);
  receiver.statusOf = () => 500;
  const failed = await run("test", id);
  expect([failed.code, failed.stderr]).toEqual([
    1,
    expect.stringContaining("not delivered: answered 500"),
  ]);
  expect((await run("dead", id, "--json")).stdout).toBe("[]\n");
  expect((await run("dead", id, "--redeliver")).stdout).toBe("0 wait again, 0 are left\n");

  expect((await run("disable", id)).stdout).toBe(`${id} is paused (operator)\n`);
  expect((await run("enable", id, "--skip-backlog")).stdout).toBe(`${id} is enabled\n`);
  const renewed = await run("secret", id);
  expect(renewed.stdout.trim()).toMatch(/^whsec_/);
  expect(renewed.stdout.trim()).not.toBe(receiver.secret);
  expect((await run("remove", id)).stdout).toBe(`removed ${id} (${receiver.url})\n`);
  expect((await run("list", "--json")).stdout).toBe("[]\n");
  server.process.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  await receiver.close();
});
