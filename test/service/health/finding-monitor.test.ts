// Findings on record: each once, a ring as one with all its members, again when it has another member; asked
// for when outcomes came in, and not while another node leads.
import { afterEach, expect, it } from "vitest";
import { FindingMonitor } from "../../../src/service/health/finding-monitor.ts";
import { openFindingRows } from "../../store/rows/_finding-rows.ts";
import { generateMarket } from "../../kaizen/credibility/_market.ts";

const HOUR_MS = 3_600_000;
const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function open() {
  const market = generateMarket({ outcomes: 20_000, ring: 5, hasOddAgents: true, seed: 6 });
  const rows = await openFindingRows(market);
  await rows.ask("CREATE TABLE audit_rows (event VARCHAR, detail JSON)");
  const clock = { nowMs: 1_000_000_000 };
  const state = { isBuilding: false, appliedLsn: 10, isLeader: true };
  const records: Record<string, unknown>[] = [];
  const logged: string[] = [];
  const monitor = new FindingMonitor({
    store: {
      queryTrusted: (sql: string) => rows.ask(sql),
      status: () => state,
    } as unknown as ConstructorParameters<typeof FindingMonitor>[0]["store"],
    isLeader: () => state.isLeader,
    append: async (payload) => {
      const text = Buffer.from(payload).toString();
      const record = JSON.parse(text) as Record<string, unknown>;
      records.push(record);
      const literal = text.replaceAll("'", "''");
      await rows.ask(`INSERT INTO audit_rows VALUES ('${String(record["event"])}', '${literal}')`);
    },
    clock: () => clock.nowMs,
    log: { warn: (event) => void logged.push(event) },
  });
  closers.push(
    () => monitor.close(),
    () => rows.close(),
  );
  return { market, rows, clock, state, records, logged, monitor };
}

it("puts each finding on record once, a ring with all its members", async () => {
  const { market, rows, clock, state, records, logged, monitor } = await open();
  state.isLeader = false;
  await monitor.look();
  expect(records).toEqual([]);
  state.isLeader = true;
  await monitor.look();
  expect(records.map(({ kind, agents }) => [kind, agents])).toEqual([
    ...market.harsh.toSorted().map((agent) => ["harsh", [agent]]),
    ["lenient", [market.lenient]],
    ["ring", market.ring.toSorted()],
  ]);
  expect(records.at(-1)).toMatchObject({
    event: "finding.raised",
    at_ms: 1_000_000_000,
    about: null,
    outcomes: 5 * 60,
    expected: 0,
  });
  expect(records.at(-1)!["observed"]).toBeGreaterThan(0.3);
  expect(new Set(logged)).toEqual(new Set(["finding_raised"]));
  const { length } = records;
  clock.nowMs += HOUR_MS;
  await monitor.look();
  state.appliedLsn += 1;
  await monitor.look();
  expect(records, "what is on record").toHaveLength(length);
  // A ring that has grown is another finding.
  await rows.ask(
    `INSERT INTO marks SELECT 99, 'agent://guild-0/late', number, 1 FROM marks LIMIT 1`,
  );
  state.appliedLsn += 1;
  await monitor.look();
  expect(records, "within the hour").toHaveLength(length);
  clock.nowMs += HOUR_MS;
  await monitor.look();
  expect(records).toHaveLength(length + 1);
  expect(records.at(-1)!["agents"]).toHaveLength(6);
});

it("tries again a minute after a store that failed", async () => {
  const { rows, clock, records, logged, monitor } = await open();
  await rows.ask("ALTER TABLE audit_rows RENAME TO other_rows");
  await monitor.look();
  expect([logged, records]).toEqual([["findings_not_on_record"], []]);
  await rows.ask("ALTER TABLE other_rows RENAME TO audit_rows");
  await monitor.look();
  expect(records).toEqual([]);
  clock.nowMs += 60_000;
  await monitor.look();
  expect(records.length).toBeGreaterThan(0);
});
