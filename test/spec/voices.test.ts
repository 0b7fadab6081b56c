// Voices of outcomes in the whole service with its defaults, through every way of reporting, and the
// warning to the operator. Attacks at full size are played by `npm run bench -- eval:attacks`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { registerReporter } from "../../bench/reporter.ts";
import type { AgentExplanation } from "../../src/contract/schemas/scores.ts";
import { encodeMsgpack } from "../../src/http/codec/msgpack.ts";
import { endAll, runCommand, startCommand } from "../cli/_process.ts";

const ADMIN = "voices-suite-admin-key-0123456789abcdefghij";
const folder = mkdtempSync(join(tmpdir(), "trustrank-voices-"));
const at = ["--data-dir", join(folder, "data")];
const MSGPACK = "application/msgpack";
const JSON_TYPE = "application/json";
const LINES = "application/x-ndjson";
const EACH = 8;
const WARNING = /^nothing is vouched for: .*keys create --first-party/;

let url: string;

beforeAll(async () => {
  const serve = ["serve", "--port", "0", "--no-sample", "--json", ...at];
  const started = startCommand(serve, { TRUSTRANK_ADMIN_KEY: ADMIN });
  ({ url } = JSON.parse(await started.firstLine) as { url: string });
});

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  status: number;
  json: Record<string, unknown>;
}

async function ask(
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  key = ADMIN,
  more = {},
): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}`, "content-type": JSON_TYPE, ...more };
  const init = { method: body === undefined ? "GET" : "POST", headers };
  const answer = await fetch(url + path, body === undefined ? init : { ...init, body });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
}

async function makeKey(more: object = {}): Promise<string> {
  const scopes = ["outcomes:write", "score:read"];
  const made = await ask("/v1/keys", JSON.stringify({ tenant: "acme", scopes, ...more }));
  expect(made.status).toBe(201);
  return made.json["key"] as string;
}

async function explain(agent: string): Promise<AgentExplanation> {
  const { json } = await ask(`/v1/agents/${encodeURIComponent(agent)}`);
  return json as unknown as AgentExplanation;
}

const reports = (subject: string, outcome: 0 | 1 = 1) =>
  Array.from({ length: EACH }, (_, i) => ({
    subject,
    reporter: `${subject.replace("/s-", "/by-")}-${i}`,
    outcome,
    stakes: 20,
    grade: "counterparty",
  }));
type Report = ReturnType<typeof reports>[number];

const packed = (value: unknown) => new Uint8Array(encodeMsgpack(value));

/** Every way of reporting, with the key it comes with. */
const ways: Record<string, (key: string, list: readonly Report[]) => Promise<Answer[]>> = {
  "one by one": (key, list) =>
    Promise.all(list.map((each) => ask("/v1/outcomes", JSON.stringify(each), key))),
  "one by one as MessagePack": (key, list) =>
    Promise.all(
      list.map((each) => ask("/v1/outcomes", packed(each), key, { "content-type": MSGPACK })),
    ),
  "a batch on a pool thread": async (key, list) => [
    await ask("/v1/outcomes/batch", JSON.stringify(list), key),
  ],
  "lines on a pool thread": async (key, list) => {
    const lines = list.map((each) => JSON.stringify(each)).join("\n");
    return [await ask("/v1/outcomes/batch", lines, key, { "content-type": LINES })];
  },
  "a batch as MessagePack": async (key, list) => [
    await ask("/v1/outcomes/batch", packed(list), key, { "content-type": MSGPACK }),
  ],
};

describe.each(Object.entries(ways))("%s", (name, way) => {
  const agent = (kind: string) => `agent://voices/s-${kind}-${name.replaceAll(" ", "-")}`;

  it("makes one voice of an ordinary key, whichever reporters it names", async () => {
    const key = await makeKey();
    const subject = agent("ordinary");
    for (const { status } of await way(key, reports(subject))) expect(status).toBeLessThan(300);
    const { evidence } = await explain(subject);
    expect(evidence.outcomes).toBe(1);
    expect(evidence.successes_90d).toBeCloseTo(0.04, 5);
    expect((await explain(reports(subject)[0]!.reporter)).known).toBe(false);
  });

  it("counts each reporter that a first-party key names, fully", async () => {
    const key = await makeKey({ first_party: true });
    const subject = agent("first-party");
    for (const { status } of await way(key, reports(subject))) expect(status).toBeLessThan(300);
    const { evidence } = await explain(subject);
    expect(evidence.outcomes).toBe(EACH);
    // Grade .6, the weight of an import, stakes of 20 where 10 count fully.
    expect(evidence.successes_90d).toBeCloseTo(EACH * 0.6, 3);
    expect((await explain(reports(subject)[0]!.reporter)).evidence.reported).toBe(1);
  });
});

async function grant(namespace: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${ADMIN}`, "content-type": JSON_TYPE };
  const init = { method: "PUT", headers, body: JSON.stringify(body) };
  expect((await fetch(`${url}/v1/namespaces/${namespace}`, init)).status).toBe(200);
}

it("makes one voice of a tenant, whichever of its names sign and whichever keys carry them", async () => {
  await grant("unvouched", { tenant: "unvouched" });
  const subject = "agent://voices/s-unvouched";
  const send = async (reporter: string, tenant: string, isSigned: boolean) => {
    const body = JSON.stringify({ ...reports(subject)[0]!, reporter, grade: "onchain" });
    const signer = isSigned ? await registerReporter(url, ADMIN, reporter) : undefined;
    const headers = signer === undefined ? {} : { "x-jws-signature": signer.sign(body) };
    const answer = await ask("/v1/outcomes", body, await makeKey({ tenant }), headers);
    expect(answer.status).toBe(201);
  };
  for (const index of [0, 1, 2]) await send(`agent://unvouched/r-${index}`, "unvouched", true);
  // Carried by another tenant's key it is the owner's word still.
  await send("agent://unvouched/r-3", "carrier", true);
  await send("agent://unvouched/r-4", "unvouched", false);
  // Of a namespace without an owner it is the sender's.
  await send("agent://unowned/r-5", "unvouched", true);
  expect((await explain(subject)).evidence.outcomes).toBe(1);
  await send("agent://unowned/r-6", "carrier", true);
  expect((await explain(subject)).evidence.outcomes).toBe(2);
  const named =
    /^not vouched for: unvouched of unvouched \(\d.* %\); they signed .* of the \d+ outcomes of the last 30 days; .*grant --vouched/;
  // Counted in the background, every five seconds while nothing is.
  await expect
    .poll(async () => (await ask("/readyz")).json["warnings"])
    .toContainEqual(expect.stringMatching(named));
  const doctor = await runCommand(["doctor", "--json", ...at]);
  const { findings } = JSON.parse(doctor.stdout) as { findings: { part: string }[] };
  expect(findings).toContainEqual(
    expect.objectContaining({ part: "signers", ok: true, advice: expect.stringMatching(named) }),
  );
  const upgrade = await runCommand(["upgrade", "--check", "--json", ...at]);
  const { parts } = JSON.parse(upgrade.stdout) as { parts: { part: string }[] };
  const signers = { part: "signers", outlook: "reads", detail: expect.stringMatching(named) };
  expect(parts).toContainEqual(expect.objectContaining(signers));
  // From the grant on each signer counts; what was recorded stays as it was.
  await grant("unvouched", { tenant: "unvouched", vouched: true });
  for (const index of [7, 8]) await send(`agent://unvouched/r-${index}`, "unvouched", true);
  expect((await explain(subject)).evidence.outcomes).toBe(4);
});

it("counts a vouched signer's outcome as its own, whichever key carries it", async () => {
  await grant("voices", { tenant: "voices", vouched: true });
  const key = await makeKey({ tenant: "voices" });
  const [first] = reports("agent://voices/s-signed");
  const signer = await registerReporter(url, ADMIN, first!.reporter);
  const body = JSON.stringify(first);
  const answer = await ask("/v1/outcomes", body, key, { "x-jws-signature": signer!.sign(body) });
  expect(answer.json).toMatchObject({ signature: "reporter" });
  const { evidence } = await explain(first!.subject);
  expect(evidence.successes_90d).toBeCloseTo(0.6, 3);
  expect((await explain(first!.reporter)).evidence.reported).toBe(1);
});

it("weighs a vouched signer's unproved grade as `counterparty` and keeps what it claimed", async () => {
  await grant("voices", { tenant: "voices", vouched: true });
  const subject = "agent://voices/s-claimed";
  const sent = { ...reports(subject)[1]!, grade: "onchain" };
  const signer = await registerReporter(url, ADMIN, sent.reporter);
  const body = JSON.stringify(sent);
  const headers = { "x-jws-signature": signer!.sign(body) };
  const answer = await ask("/v1/outcomes", body, await makeKey({ tenant: "voices" }), headers);
  expect(answer.json).toMatchObject({ signature: "reporter", claimed_grade: "onchain" });
  expect((await explain(subject)).evidence.successes_90d).toBeCloseTo(0.6, 3);
  const list = `/v1/outcomes?subject=${encodeURIComponent(subject)}`;
  await expect
    .poll(async () => (await ask(list)).json["outcomes"])
    .toMatchObject([{ grade: "counterparty", claimed_grade: "onchain" }]);
});

it("counts what the operator imports, and reports with the admin key, as vouched for", async () => {
  const subject = "agent://voices/s-imported";
  const lines = reports(subject).map((each) => JSON.stringify(each));
  const path = "/v1/outcomes/import?source=voices";
  await ask(path, lines.join("\n"), ADMIN, { "content-type": LINES });
  expect((await explain(subject)).evidence.outcomes).toBe(EACH);
  const other = "agent://voices/s-admin";
  await ask("/v1/outcomes/batch", JSON.stringify(reports(other)));
  expect((await explain(other)).evidence.outcomes).toBe(EACH);
});

describe("a service in which nothing is vouched for", () => {
  it("is said by doctor and /readyz until a first-party key is there", async () => {
    const own = ["--data-dir", join(folder, "warned")];
    const make = (...flags: string[]) =>
      runCommand(["keys", "create", "--tenant", "acme", ...flags, ...own]);
    const advice = async (environment = {}) => {
      const { code, stdout } = await runCommand(["doctor", "--json", ...own], environment);
      expect(code).toBe(0);
      const { findings } = JSON.parse(stdout) as { findings: { part: string; advice: string }[] };
      return findings.find(({ part }) => part === "API keys")!.advice;
    };
    await make("--scopes", "score:read");
    expect(await advice(), "a key that reports nothing").toBe("");
    await make();
    expect(await advice()).toMatch(WARNING);
    expect(await advice({ TRUSTRANK_SEEDS: "agent://acme/*" }), "seeds").toBe("");
    const requiring = { OUTCOMES_REQUIRE_SIGNATURE: "true" };
    expect(await advice(requiring), "a signature vouches for nobody").toMatch(WARNING);
    const started = startCommand(["serve", "--port", "0", "--no-sample", "--json", ...own], {
      TRUSTRANK_ADMIN_KEY: ADMIN,
    });
    ({ url } = JSON.parse(await started.firstLine) as { url: string });
    const ready = async () => (await ask("/readyz")).json;
    expect(await ready()).toEqual({
      ready: true,
      code: "ready",
      reasons: [],
      warnings: [expect.stringMatching(WARNING)],
    });
    await makeKey({ first_party: true });
    expect(await ready()).toEqual({ ready: true, code: "ready", reasons: [] });
    started.process.kill("SIGTERM");
    expect((await started.ended).stderr).toMatch(/nothing_vouched_for/);
    expect(await advice()).toBe("");
    await make("--first-party");
    const listed = await runCommand(["keys", "list", "--json", ...own]);
    const keys = JSON.parse(listed.stdout) as { first_party: boolean }[];
    expect(keys.map((key) => key.first_party)).toEqual([false, false, true, true]);
  });
});
