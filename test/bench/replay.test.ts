// Ratings as the benches fold them are the outcomes that the service folds from its journal.
import { expect, test } from "vitest";
import { foldRating, VOICES, type Voices } from "../../bench/replay.ts";
import type { RatedOutcome } from "../../bench/ratings.ts";
import { findSignerVoice } from "../../src/bureau/outcomes/record.ts";
import { foldKeyRegistry } from "../../src/bureau/reporters/key-registry.ts";
import { hashTenantToVoice } from "../../src/contract/voices.ts";
import { GRADES } from "../../src/contract/vocabulary.ts";
import type { FoldOutcome } from "../../src/engine/reading.ts";
import type { TableWriter } from "../../src/engine/writer.ts";
import { createFoldedOutcome, decodeFoldedOutcome } from "../../src/journal/folded-outcome.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import { recordOf, runOf } from "../ledger/_fixtures.ts";

const rating: RatedOutcome = {
  reporter: "agent://eval/7",
  subject: "agent://eval/8",
  failure: 1,
  stakes: 3,
  timeMs: Date.UTC(2026, 0, 1),
};

/** What the service records of the rating, with the registry's own word on who answers for it. */
function recordRating(voices: Voices): OutcomeRecord {
  const { subject, reporter, stakes, timeMs } = rating;
  const times = { settledAtMs: timeMs, recordedAtMs: timeMs };
  const gradeIndex = GRADES.indexOf("counterparty");
  const common = { subject, reporter, outcome: 0 as const, stakes, gradeIndex, ...times };
  if (voices === "import")
    return recordOf(1, { ...common, signature: "bureau", isFirstParty: true });
  const tenant = voices === "vouched" ? "market" : reporter;
  const registry = foldKeyRegistry([
    Buffer.from(
      JSON.stringify({
        event: "namespace.granted",
        at_ms: timeMs,
        namespace: "eval",
        tenant,
        keeps_keys: false,
        vouched: voices === "vouched",
        by: "admin",
      }),
    ),
  ]);
  const sender = { voice: hashTenantToVoice("carrier"), areStandingsInForce: false };
  const signerVoice = findSignerVoice(registry, reporter, sender);
  const signer = signerVoice === undefined ? {} : { signerVoice };
  return recordOf(1, { ...common, signature: "reporter", ...signer });
}

test.each(VOICES)("a rating under `%s` is folded as its journal record is", (voices) => {
  const folded: FoldOutcome[] = [];
  const writer = { fold: (outcome: FoldOutcome) => folded.push(outcome) };
  foldRating(writer as unknown as TableWriter, rating, voices);
  const expected = createFoldedOutcome();
  expect(decodeFoldedOutcome(runOf([recordRating(voices)]).bytes, 0, expected)).toBe(true);
  expect(expected).toMatchObject(folded[0]!);
});
