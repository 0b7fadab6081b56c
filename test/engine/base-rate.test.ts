// The base rate against those who would drag it: names that first spoke lately move it by a step of
// their own, however many they are; the same words of reporters known for weeks are believed.
import { expect, test } from "vitest";
import { hashTenantToVoice } from "../../src/contract/voices.ts";
import { DAY_MS, openEngine, START_MS } from "./_engine.ts";

const HOUR_MS = 3_600_000;
const HOURS = 12;
const SIGNED = 2;

/** Thirty agents whom thirty buyers report on for a month; then an attack of twelve hours. */
function openMarket() {
  const { writer, reader } = openEngine();
  const say = (
    subject: string,
    reporter: string,
    outcome: 0 | 1,
    atMs: number,
    voice = 0,
    signatureIndex = SIGNED,
  ) =>
    writer.fold({
      subject,
      reporter,
      outcome,
      stakes: 50,
      gradeIndex: 3,
      signatureIndex,
      settledAtMs: atMs,
      voice,
    });
  const honest = Array.from({ length: 30 }, (_, i) => `agent://market/seller-${i}`);
  for (let day = 0; day < 30; day++) {
    honest.forEach((seller, i) => {
      const buyer = `agent://market/buyer-${(i + day) % 30}`;
      say(seller, buyer, (i + day) % 10 === 0 ? 0 : 1, START_MS + day * DAY_MS + i * HOUR_MS);
    });
  }
  const nowMs = START_MS + 32 * DAY_MS;
  const median = () => {
    const scores = honest.map((id) => reader.check(id, 0, nowMs + DAY_MS).scoreInternal);
    return scores.toSorted((a, b) => a - b)[15]!;
  };
  /** What the attack costs the honest, in points of their median score. */
  const cost = (names: number, how: { voice?: number; signature?: number; prefix?: string }) => {
    const { voice = 0, signature = SIGNED, prefix = "agent://invented/" } = how;
    const before = median();
    for (let hour = 0; hour < HOURS; hour++) {
      for (let i = 0; i < names; i++) {
        const subject = `agent://thrown/away-${hour}-${i}`;
        say(subject, `${prefix}${i}`, 0, nowMs + hour * HOUR_MS + i, voice, signature);
      }
    }
    // The hour after closes the last one.
    say(honest[0]!, "agent://market/buyer-0", 1, nowMs + HOURS * HOUR_MS);
    return before - median();
  };
  return { cost, say, nowMs };
}

test.each([20, 200])("%i invented names that sign nothing cost nobody anything", (names) => {
  const { cost } = openMarket();
  expect(
    Math.abs(cost(names, { voice: hashTenantToVoice("a tenant"), signature: 0 })),
  ).toBeLessThan(1);
});

test.each([20, 200])("%i new keys that sign cost five points at most", (names) => {
  expect(openMarket().cost(names, {})).toBeLessThan(5);
});

test("what reporters of many weeks say is believed", () => {
  const { cost, say } = openMarket();
  for (let i = 0; i < 20; i++) say("agent://t/x", `agent://old/${i}`, 1, START_MS + DAY_MS * 31);
  // They have spoken too late to be known yet.
  expect(cost(20, { prefix: "agent://old/" })).toBeLessThan(5);
  const market = openMarket();
  for (let i = 0; i < 20; i++) {
    market.say("agent://t/x", `agent://old/${i}`, 1, START_MS + DAY_MS);
  }
  // Late word of an old day makes nobody old: the rate had come to day 30 by then.
  expect(market.cost(20, { prefix: "agent://old/" })).toBeLessThan(5);
  expect(openMarket().cost(20, { prefix: "agent://market/buyer-" })).toBeGreaterThan(20);
});
