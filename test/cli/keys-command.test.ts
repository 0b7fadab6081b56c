// `trustrank keys` as operators use it: on the files, then through the server that holds them; and
// what a kill of that server leaves of a change that it has answered.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { endAll, runCommand, startCommand } from "./_process.ts";

const KEY = "keys-suite-admin-key-0123456789abcdefghijklm";
const folder = mkdtempSync(join(tmpdir(), "trustrank-keys-command-"));
const AT = ["--data-dir", join(folder, "data")];

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...parameters: string[]) =>
  runCommand(["keys", ...parameters, ...AT], { TRUSTRANK_KEY: KEY });

async function serve() {
  const server = startCommand(["serve", "--port", "0", "--no-sample", "--json", ...AT], {
    TRUSTRANK_ADMIN_KEY: KEY,
  });
  const { url } = JSON.parse(await server.firstLine) as { url: string };
  const ask = async (path: string, key: string, body?: unknown) =>
    fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const usage = async (key: string) => (await ask("/v1/usage", key)).status;
  return { server, usage, ask };
}

it("changes and rotates a key on the files", async () => {
  const made = await run("create", "--tenant", "acme", "--label", "first", "--json");
  const { key, key_id: id } = JSON.parse(made.stdout) as { key: string; key_id: string };
  const set = await run(
    "set",
    id,
    "--label=gateway",
    "--scopes=score:read",
    "--minimums=L2=600,L3=700",
    "--expires=2099-01-01",
    "--query-seconds=3",
  );
  expect([set.code, set.stdout]).toEqual([0, `changed ${id} of acme: score:read\n`]);
  const rotated = await run("rotate", id, "--overlap", "90m");
  expect([rotated.code, rotated.stdout.trim()]).toEqual([0, expect.stringMatching(/^tr_live_/)]);
  expect(rotated.stdout.trim()).not.toBe(key);
  expect(rotated.stderr).toMatch(/^key \S+ of acme, the former one works until 20/);
  const { stdout } = await run("list", "--json");
  expect(JSON.parse(stdout)).toMatchObject([
    {
      key_id: id,
      label: "gateway",
      scopes: ["score:read"],
      minimum_scores: { L2: 600, L3: 700 },
      query_seconds_max: 3,
      expires_at: "2099-01-01T00:00:00.000Z",
      overlap_ends_at: expect.stringMatching(/^20/),
    },
  ]);
  const cleared = await run(
    "set",
    id,
    "--no-label",
    "--no-expires",
    "--no-query-seconds",
    "--json",
  );
  expect(JSON.parse(cleared.stdout)).toMatchObject({
    label: null,
    expires_at: null,
    query_seconds_max: null,
  });
  const limited = await run("create", "--query-seconds", "2", "--json");
  expect(JSON.parse(limited.stdout)).toMatchObject({ query_seconds_max: 2 });
  expect((await run("list")).stdout).toMatch(/overlap until/);
});

it.each([
  [["set", "x"], /name something to change/],
  [["set", "x", "--scopes", "root"], /not a scope/],
  [["set", "x", "--expires", "2001-01-01"], /must lie ahead/],
  [["set", "x", "--minimums", "L9=500"], /--minimums takes levels/],
  [["set", "x", "--minimums", "L3=900"], /minimum_scores\/L3/],
  [["set", "x", "--label", ""], /--label takes/],
  [["set", "x", "--query-seconds", "61"], /query_seconds_max/],
  [["set", "x", "--query-seconds", "0"], /query_seconds_max/],
  [["create", "--query-seconds", "61"], /query_seconds_max/],
  [["rotate", "x", "--overlap", "soon"], /expected a time/],
  [["rotate", "x", "--overlap", "31d"], /overlap_sec/],
])("refuses keys %j as wrong usage", async (parameters, why) => {
  const refused = await run(...parameters);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(why)]);
});

it("asks the server that holds the files, and a kill undoes nothing that was answered", async () => {
  const made = await run("create", "--tenant", "globex", "--json");
  const { key, key_id: id } = JSON.parse(made.stdout) as { key: string; key_id: string };
  const first = await serve();
  const rotated = await run("rotate", id);
  const fresh = rotated.stdout.trim();
  expect(rotated.stderr).toMatch(/asking it\n.*the former one works until/);
  expect((await run("set", id, "--label", "kept")).code).toBe(0);
  expect([await first.usage(key), await first.usage(fresh)]).toEqual([200, 200]);
  const unknown = await run("rotate", "nobody0000");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("not_found")]);
  first.server.process.kill("SIGKILL");
  await first.server.ended;

  const second = await serve();
  expect([await second.usage(key), await second.usage(fresh)]).toEqual([200, 200]);
  const last = (await run("rotate", id, "--overlap", "0")).stdout.trim();
  expect([await second.usage(key), await second.usage(fresh), await second.usage(last)]).toEqual([
    401, 401, 200,
  ]);
  const sql =
    "SELECT event, detail->>'label' AS label FROM audit_events WHERE starts_with(event, 'api_key.') ORDER BY position";
  await expect
    .poll(
      async () =>
        ((await (await second.ask("/v1/query", KEY, { sql })).json()) as { rows: unknown }).rows,
    )
    .toEqual([
      ["api_key.rotated", null],
      ["api_key.changed", "kept"],
      ["api_key.rotated", "kept"],
    ]);
  second.server.process.kill("SIGTERM");
  await second.server.ended;
});
