// `trustrank namespaces` as operators use it: on the files, then through the server that holds them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { endAll, runCommand, startCommand } from "./_process.ts";

const KEY = "namespaces-suite-admin-key-0123456789abcdefg";
const folder = mkdtempSync(join(tmpdir(), "trustrank-namespaces-"));
const AT = ["--data-dir", join(folder, "data")];

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...parameters: string[]) =>
  runCommand(["namespaces", ...parameters, ...AT], { TRUSTRANK_KEY: KEY });

it("grants, lists, transfers and revokes, on the files and through the server", async () => {
  const granted = await run("grant", "acme", "--tenant", "acme");
  expect([granted.code, granted.stdout]).toEqual([
    0,
    "acme belongs to acme; all its signers are one voice\n",
  ]);
  const vouched = await run("grant", "acme", "--tenant", "acme", "--vouched");
  expect(vouched.stdout).toBe("acme belongs to acme; each of its signers is a voice\n");
  const named = await run("grant", "court", "--tenant", "court", "--mediator");
  expect(named.stdout).toBe(
    "court belongs to court; all its signers are one voice; its keys attest transactions of others\n",
  );
  const other = await run("grant", "acme", "--tenant", "globex");
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("transfer it")]);
  const wrong = await run("grant", "a/b", "--tenant", "globex");
  expect(wrong.code).toBe(2);

  const server = startCommand(["serve", "--port", "0", "--no-sample", "--json", ...AT], {
    TRUSTRANK_ADMIN_KEY: KEY,
  });
  await server.firstLine;
  const moved = await run("transfer", "acme", "--to", "globex", "--keep-keys");
  expect([moved.code, moved.stdout]).toEqual([
    0,
    "acme belongs to globex; all its signers are one voice\n",
  ]);
  const listed = await run("list");
  expect(listed.stdout).toMatch(/acme +globex +granted +no +no +20\S+Z +installed-admin\n/);
  expect(listed.stdout).toMatch(/court +court +granted +no +yes +20/);
  const ended = await run("grant", "court", "--tenant", "court", "--no-mediator");
  expect(ended.stdout).toBe("court belongs to court; all its signers are one voice\n");
  await run("revoke", "court");
  server.process.kill("SIGTERM");
  await server.ended;

  const revoked = await run("revoke", "acme", "--json");
  expect(JSON.parse(revoked.stdout)).toMatchObject({ namespace: "acme", tenant: "globex" });
  expect((await run("list", "--json")).stdout).toBe("[]\n");
});
