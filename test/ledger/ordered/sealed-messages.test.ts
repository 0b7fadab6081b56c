// Rules of the log and seals: which messages count is decided by the log alone, on every node alike.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { blankInvalidMessage } from "../../../src/ledger/ordered/invalid-messages.ts";
import {
  buildRulesMessage,
  FIRST_RULES,
  MESSAGE_PLACES_MAX,
  MESSAGE_RULES_VERSION,
  type OrderedMessage,
} from "../../../src/ledger/ordered/message.ts";
import { StreamProgress } from "../../../src/ledger/ordered/progress.ts";
import { newKey, temporaryDirectory } from "../_fixtures.ts";
import { foreign, messagesOf, openFeed, openOrdered } from "./_feed.ts";

const KEY = "ab".repeat(32);

/** The message that begins a log, or raises its rules. */
function change(seq: number, changes: Partial<OrderedMessage> = {}) {
  const message = buildRulesMessage({ rules: MESSAGE_RULES_VERSION, key: KEY }, seq - 1);
  return foreign(seq, { ...message, rules: MESSAGE_RULES_VERSION, ...changes });
}

function journalOf(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => /^seg-\d+\.log$/.test(name));
  return names.toSorted().map((name) => readFileSync(path.join(directory, name)).toString("hex"));
}

const UNSEALED = { isSealed: false };
const OLD = { rules: FIRST_RULES, isSealed: false };

test("a log of sealed rules passes over what carries no valid seal, and says so", async () => {
  const core = openOrdered(temporaryDirectory());
  const feed = openFeed(core);
  feed.give(change(1), foreign(2), foreign(3, UNSEALED), foreign(4, OLD), foreign(5));
  await expect.poll(() => feed.applied().at(-1)).toBe(5);
  expect(core.progress.rulesLevel).toBe(MESSAGE_RULES_VERSION);
  // Five marks, two outcomes and two entries of the audit trail.
  expect([core.lsn, feed.failures]).toEqual([9, []]);
  const told = feed.sent.flatMap((sent) => (sent.kind === "ignored" ? sent.messages : []));
  expect(told.map(({ seq, origin }) => [seq, origin])).toEqual([
    [3, "two:1"],
    [4, "two:1"],
  ]);
});

test("an older log takes unsealed messages up to the one that raises its rules", async () => {
  const directory = temporaryDirectory();
  const key = newKey();
  const core = openOrdered(directory, { key });
  const feed = openFeed(core);
  // One that nobody has sealed raises nothing.
  feed.give(foreign(1, OLD), change(2, UNSEALED), foreign(3, OLD));
  await expect.poll(() => feed.applied().at(-1)).toBe(3);
  expect(core.progress.rulesLevel).toBe(FIRST_RULES);
  feed.give(change(4), foreign(5, OLD), foreign(6));
  await expect.poll(() => feed.applied().at(-1)).toBe(6);
  expect([core.progress.rulesLevel, core.lsn, feed.failures]).toEqual([2, 11, []]);
  core.close();
  const again = openOrdered(directory, { key });
  expect(again.progress.rulesLevel).toBe(2);
  again.close();
});

test("one byte with rules that nobody knows ends no node", async () => {
  const core = openOrdered(temporaryDirectory());
  const feed = openFeed(core);
  feed.give(foreign(1, OLD), foreign(2, { rules: 99, frames: Uint8Array.of(1), isSealed: false }));
  await expect.poll(() => [core.progress.seq, feed.failures]).toEqual([2, []]);
});

test("a sealed message of unknown rules stops the node with what helps", async () => {
  const core = openOrdered(temporaryDirectory());
  const feed = openFeed(core);
  feed.give(change(1), foreign(2, { rules: 3 }));
  await expect.poll(() => feed.failures).toHaveLength(1);
  expect(String(feed.failures[0])).toMatch(/message 2 .* rules 3, .*install the release/);
  expect(core.progress.seq).toBe(1);
});

test("a message counts for so many places after it was sent, and its origin is remembered as long", () => {
  const [message] = messagesOf(foreign(7));
  const at = (seq: number, after: number) =>
    blankInvalidMessage({ ...message!, seq, after }, MESSAGE_RULES_VERSION).origin;
  const after = 5;
  expect(at(after + MESSAGE_PLACES_MAX, after)).toBe("two:1");
  expect(at(after + MESSAGE_PLACES_MAX + 1, after)).toBe("");
  expect(at(5, 5)).toBe("");
  expect(at(5, Number.NaN)).toBe("");

  const progress = new StreamProgress();
  const apply = (seq: number, origin: string, n: number) =>
    progress.apply({ generation: 1, seq, origin, n, sha: "", ...(seq === 1 ? { rules: 2 } : {}) });
  apply(1, "first", 1);
  apply(2, "kept", 1);
  for (let seq = 3; seq < 3000; seq++) apply(seq, `start:${seq}`, 1);
  expect(progress.isNewMessage({ origin: "kept", n: 1 })).toBe(false);
  apply(MESSAGE_PLACES_MAX + 2, "last", 1);
  expect(progress.isNewMessage({ origin: "first", n: 1 })).toBe(true);
  expect(progress.isNewMessage({ origin: "kept", n: 1 })).toBe(false);
});

test("journals are equal however messages gather and wherever nodes start again", () => {
  const kinds = fc.constantFrom("sealed", "old", "unsealed", "change", "forged change", "poison");
  fc.assert(
    fc.property(fc.array(kinds, { minLength: 5, maxLength: 60 }), fc.nat(60), (list, stop) => {
      const made = list.map((kind, index) => {
        const seq = index + 1;
        if (kind === "change") return messagesOf(change(seq))[0]!;
        if (kind === "forged change") return messagesOf(change(seq, UNSEALED))[0]!;
        if (kind === "old") return messagesOf(foreign(seq, OLD))[0]!;
        if (kind === "unsealed") return messagesOf(foreign(seq, UNSEALED))[0]!;
        if (kind === "sealed") return messagesOf(foreign(seq))[0]!;
        return messagesOf(foreign(seq, { ...UNSEALED, rules: 99 }))[0]!;
      });
      const key = newKey();
      const apply = (stops: boolean) => {
        const directory = temporaryDirectory();
        let core = openOrdered(directory, { key });
        for (const message of made) {
          const { progress } = core;
          core.applyMessages([
            blankInvalidMessage(
              { ...message, frames: Uint8Array.from(message.frames) },
              progress.rulesLevel,
            ),
          ]);
          if (!stops || message.seq !== stop) continue;
          core.close();
          core = openOrdered(directory, { key });
        }
        const { rulesLevel } = core.progress;
        core.close();
        return { rulesLevel, journal: journalOf(directory) };
      };
      expect(apply(true)).toEqual(apply(false));
    }),
    { numRuns: 20 },
  );
});
