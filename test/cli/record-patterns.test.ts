// Few reporters and rings over HTTP: reported, answered with their codes and sentences, logged so
// that they can be judged again, and the same after a start that reads the journal.
import * as fs from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { endAll, startCommand, type Started } from "./_process.ts";

const KEY = "an-admin-secret-of-the-operator-0123456789";
const STAKES = 100_000;

let directory: string;
let server: Started;
let url: string;

async function start(): Promise<void> {
  const parameters = ["serve", "--port", "0", "--data-dir", `${directory}/data`, "--json"];
  server = startCommand(parameters, { TRUSTRANK_ADMIN_KEY: KEY });
  url = (JSON.parse(await server.firstLine) as { url: string }).url;
}

beforeAll(() => {
  directory = fs.mkdtempSync("/tmp/trustrank-patterns-");
  return start();
});

afterAll(async () => {
  await endAll();
  fs.rmSync(directory, { recursive: true });
});

// The tests look into the answers freely.
// oxlint-disable-next-line typescript/no-explicit-any
async function ask(path: string, body?: unknown): Promise<any> {
  const response = await fetch(url + path, {
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  expect(response.ok, path).toBe(true);
  return response.json();
}

async function report(subject: string, reporters: readonly string[], each: number): Promise<void> {
  const common = { outcome: 1, stakes: 20, grade: "escrow" };
  const rows = reporters.flatMap((reporter) =>
    Array.from({ length: each }, (_, k) => {
      const settled = new Date(Date.now() - (k + 1) * 3_600_000).toISOString();
      return { ...common, subject, reporter, settled_at: settled };
    }),
  );
  for (const row of rows) await ask("/v1/outcomes", row);
}

const circle = ["agent://circle/a", "agent://circle/b", "agent://circle/c"];
const narrow = "agent://few/narrow";
const broad = "agent://many/broad";
const codesOf = async (subject: string): Promise<string[]> => {
  const answer = await ask("/v1/check", { subject, stakes: STAKES });
  expect(answer).toMatchObject({ decision: "escalate", allowed: false });
  return answer.reason_codes as string[];
};

it("names few reporters and rings, and nobody else", async () => {
  await report(narrow, ["agent://few/one", "agent://few/two"], 8);
  const witnesses = Array.from({ length: 12 }, (_, i) => `agent://many/w${i}`);
  await report(broad, witnesses, 3);
  for (const member of circle) {
    const others = circle.filter((other) => other !== member);
    await report(member, others, 8);
  }
  const check = await ask("/v1/check", { subject: narrow, stakes: STAKES });
  expect(check.reason_codes).toContain("CONCENTRATED_REPORTERS");
  expect(check.reason_codes).not.toContain("RING_PATTERN");
  expect(check.reasons).toContain("The agent's record comes from very few reporters.");
  expect(check.reasons).toHaveLength(check.reason_codes.length);
  for (const member of circle) expect(await codesOf(member)).toContain("RING_PATTERN");
  const many = await codesOf(broad);
  expect(many).not.toContain("CONCENTRATED_REPORTERS");
  expect(many).not.toContain("RING_PATTERN");

  // Little at stake: clear, and so without a word against the agent.
  const clear = await ask("/v1/check", { subject: circle[0], stakes: 0 });
  expect(clear).toMatchObject({ decision: "connect", reasons: [], reason_codes: [] });

  const parties = { initiator: broad, counterparty: circle[0], stakes: STAKES };
  const legs = await ask("/v1/handshake", parties);
  expect(legs.a_to_b.reason_codes).toContain("RING_PATTERN");
  const sentence = "Much of the agent's record comes from few agents that it praised itself.";
  expect(legs.a_to_b.reasons).toContain(sentence);
  expect(legs.reasons).toContain(sentence);
  const explained = await ask(`/v1/agents/${encodeURIComponent(narrow)}`);
  expect(explained.reason_codes).toContain("CONCENTRATED_REPORTERS");
  expect(explained.improvements).toContain(
    "Outcomes from other reporters would broaden the record.",
  );

  for (const { request_id: id } of [check, legs]) {
    const replay = await ask(`/v1/decisions/${id}/replay`, {});
    expect(replay).toMatchObject({ identical: true, differences: [] });
  }
});

it("a start that reads the journal gives the same", async () => {
  const before = await Promise.all([narrow, broad, ...circle].map(codesOf));
  server.process.kill("SIGKILL");
  await server.ended;
  await start();
  expect(await Promise.all([narrow, broad, ...circle].map(codesOf))).toEqual(before);
});
