// Places in the decision log: whatever becomes of a segment (it grows, is compressed, another life begins,
// it is kept no longer), each decision is told of once, under one id.
import * as fs from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { resolveSegmentsDirectory } from "../../../src/store/decisions/segments.ts";
import { DecisionEvents } from "../../../src/threads/webhooks/decision-events.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { denial, openDecisionLog } from "../../webhooks/_decision-log.ts";

it("gives each decision once, wherever reading stops", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("log" as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ kind: fc.constant("settle" as const) }),
    fc.record({ kind: fc.constant("read" as const), taken: fc.integer({ min: 0, max: 8 }) }),
    fc.record({ kind: fc.constant("reopen" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const dataDir = temporaryDirectory();
      const log = openDecisionLog(dataDir);
      let source = new DecisionEvents(resolveSegmentsDirectory(dataDir), "tr-1");
      let place: unknown = JSON.parse(JSON.stringify(source.head()));
      let logged = 0;
      const found: string[] = [];
      const ids = new Set<string>();
      const read = (countMax: number) => {
        const { readings, next } = source.read(place);
        for (const reading of readings.slice(0, countMax)) {
          for (const { id, data } of reading.events) {
            found.push(data["agent_id"] as string);
            ids.add(id);
          }
          place = JSON.parse(JSON.stringify(reading.next));
        }
        const isAll = readings.length <= countMax;
        const isMoved = isAll && JSON.stringify(next) !== JSON.stringify(place);
        if (isAll) place = JSON.parse(JSON.stringify(next));
        return readings.length > 0 || isMoved;
      };
      for (const each of steps) {
        if (each.kind === "log") {
          const agents = Array.from({ length: each.count }, () => `a${logged++}`);
          log.log(...agents.map((agent) => denial(agent)));
        } else if (each.kind === "settle") log.settle();
        else if (each.kind === "reopen") {
          source = new DecisionEvents(resolveSegmentsDirectory(dataDir), "tr-1");
        } else read(each.taken);
      }
      while (read(3));
      expect(found).toEqual(Array.from({ length: logged }, (_, n) => `agent://shop/a${n}`));
      expect(ids.size).toBe(logged);
    }),
    { numRuns: 60 },
  );
});

it("goes on behind segments that are kept no longer", () => {
  const dataDir = temporaryDirectory();
  const log = openDecisionLog(dataDir);
  const source = new DecisionEvents(resolveSegmentsDirectory(dataDir), "tr-1");
  log.log(denial("old"));
  const place = source.head();
  log.settle();
  log.log(denial("new"));
  const [oldest] = fs.readdirSync(resolveSegmentsDirectory(dataDir)).toSorted();
  fs.rmSync(join(resolveSegmentsDirectory(dataDir), oldest!));
  const passed = source.read(place);
  expect(passed.readings).toEqual([]);
  const { readings } = source.read(passed.next);
  expect(readings.flatMap(({ events }) => events.map(({ lane }) => lane))).toEqual([
    "agent://shop/new",
  ]);
});

it("tells of a fraud flag under one id a day, beside the denials", () => {
  const dataDir = temporaryDirectory();
  const log = openDecisionLog(dataDir);
  const source = new DecisionEvents(resolveSegmentsDirectory(dataDir), "tr-1");
  const place = source.head();
  const fraud = { ...denial("c"), reasonCodes: ["FRAUD_FLAG"] };
  log.log(
    { ...fraud, evaluatedAtMs: 5000 },
    { ...fraud, evaluatedAtMs: 6000 },
    { ...fraud, evaluatedAtMs: 5000 + 86_400_000 },
    { ...denial("d"), isAllowed: true },
    denial("e"),
  );
  // The first read finds the segment, the second its decisions.
  const { next } = source.read(place);
  const events = source.read(next).readings.flatMap((each) => each.events);
  const of = (type: string) => events.filter((event) => event.type === type);
  expect(of("decision.denied")).toHaveLength(4);
  const frauds = of("agent.fraud_flagged");
  expect(frauds.map(({ lane }) => lane)).toEqual(Array.from({ length: 3 }, () => "agent://shop/c"));
  const ids = frauds.map(({ id }) => id);
  expect([ids[0] === ids[1], new Set(ids).size]).toEqual([true, 2]);
});
