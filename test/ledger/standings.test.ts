// Standings through the real threads: applied at their position, so that a replay, a start from a
// snapshot and a re-fold end with the table that was served, byte for byte.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { FLAG_KEY_REVOKED } from "../../assembly/layout.ts";
import { STANDING_BITS } from "../../src/contract/standings.ts";
import { openTableImage } from "../../src/engine/image.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import type { AgentStanding } from "../../src/engine/reading.ts";
import { openEngineWriter } from "../../src/engine/writer.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { FRAME_HEAD_BYTES, FRAME_KINDS, writeFrameHead } from "../../src/journal/format.ts";
import {
  decodeStandings,
  encodeStandings,
  RULES_BEFORE_STANDINGS,
} from "../../src/journal/standings.ts";
import { type OpenLedger, startLedger } from "../../src/ledger/client.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import { selectSnapshotNames } from "../../src/ledger/snapshot/format.ts";
import { NOW_MS, recordOf, temporaryDirectory } from "./_fixtures.ts";

const CHILD = fileURLToPath(new URL("./_standings-child.ts", import.meta.url));
const NEVER = { outcomes: 1e9, ms: 1e12, outcomesMin: 1e9 };
const OFTEN = { outcomes: 100, ms: 1e12, outcomesMin: 1e9 };

interface Opened {
  ledger: OpenLedger;
  /** The table that is served. */
  memory: WebAssembly.Memory;
  /** Called when a re-fold has made another. */
  tables: (() => void)[];
}

const open: OpenLedger[] = [];
afterEach(() => Promise.all(open.splice(0).map((ledger) => ledger.close())));

async function start(dataDir: string, snapshotPace = NEVER): Promise<Opened> {
  const tables: (() => void)[] = [];
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: () => undefined,
    clock: () => NOW_MS,
    snapshotPace,
    onTable: (memory) => {
      opened.memory = memory;
      for (const tell of tables) tell();
    },
  });
  open.push(ledger);
  const opened: Opened = { ledger, memory: ledger.engineMemory, tables };
  return opened;
}

async function restart(dataDir: string, before: Opened): Promise<Opened> {
  await before.ledger.close();
  open.splice(open.indexOf(before.ledger), 1);
  return start(dataDir);
}

/** Everything but scratch, as one buffer. */
const tableOf = ({ memory }: Opened) => Buffer.concat(openTableImage(memory).viewParts());

const report = ({ ledger }: Opened, from: number, count: number) =>
  ledger.appendBatch(Array.from({ length: count }, (_, n) => recordOf(from + n)));

function believed(count: number): AgentStanding[] {
  return Array.from({ length: count }, (_, i) => ({
    agent: `agent://shop/buyer-${i}`,
    flags: STANDING_BITS.believed,
    credibility: (i % 1000) / 1000,
    cluster: i % 3,
  }));
}

async function write({ ledger }: Opened, agents: AgentStanding[], isInForce = true) {
  const batch = { isInForce, stakesHigh: 12.5, agents, computedFrom: ledger.position() };
  const parts = encodeStandings(batch, RULES_BEFORE_STANDINGS);
  for (const part of parts) await ledger.appendStandings(part);
  return parts.length;
}

test("what is written is what is read, in parts of which the last one counts", () => {
  const agents = believed(5000);
  const batch = { isInForce: true, stakesHigh: 3, agents, computedFrom: 2 ** 33 };
  const parts = encodeStandings(batch, RULES_BEFORE_STANDINGS);
  expect(parts.length).toBeGreaterThan(1);
  const read = parts.map((part) => {
    const frame = Buffer.concat([Buffer.alloc(FRAME_HEAD_BYTES), part]);
    writeFrameHead(frame, 0, FRAME_KINDS.standings, part.byteLength);
    return decodeStandings(frame, 0);
  });
  expect(read.flatMap((part) => part.agents)).toEqual(agents);
  const inForce = read.map((part) => part.isInForce);
  expect(inForce).toEqual([...Array.from({ length: parts.length - 1 }, () => false), true]);
  expect(read[0]).toMatchObject({ stakesHigh: 0, computedFrom: 2 ** 33 });
  expect(read.at(-1)).toMatchObject({ stakesHigh: 3, computedFrom: 2 ** 33 });
});

test("a replay of standings among outcomes gives the same table, byte for byte", async () => {
  const dataDir = temporaryDirectory();
  const live = await start(dataDir);
  await report(live, 0, 200);
  await write(live, believed(5));
  await report(live, 200, 200);
  await write(live, believed(5).toReversed().slice(2));
  await report(live, 400, 100);
  const table = tableOf(live);
  expect(openEngineReader(live.memory, 1).areStandingsInForce).toBe(true);
  expect(tableOf(await restart(dataDir, live)).equals(table)).toBe(true);
});

test.each([1, 2, 3])("killed with %i parts of a batch on disk it starts as it was", async (n) => {
  const dataDir = temporaryDirectory();
  const child = spawn(process.execPath, [CHILD, dataDir, String(n)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  child.kill("SIGKILL");
  await once(child, "close");
  const [parts, served] = line.toString().trim().split(" ");
  const next = await start(dataDir);
  expect(createHash("sha256").update(tableOf(next)).digest("hex")).toBe(served);
  // The rule changes with the last part: half a batch makes nobody a stranger.
  expect(openEngineReader(next.memory, 1).areStandingsInForce).toBe(n >= Number(parts));
});

test("they count from their position on, and not before", async () => {
  const served: number[] = [];
  for (const at of [0, 300]) {
    const live = await start(temporaryDirectory());
    await report(live, 0, at);
    await write(live, [], true);
    await report(live, at, 300 - at);
    const reader = openEngineReader(live.memory, 1);
    served.push(reader.explain("agent://shop/seller-1", NOW_MS).failures90);
  }
  // Strangers from the start share one cap; believed until then they had filled the record.
  expect(served[0]).toBeLessThan(served[1]! / 4);
});

test("a re-fold of a compromised key's outcomes keeps the standings among the rest", async () => {
  const dataDir = temporaryDirectory();
  const live = await start(dataDir);
  const kid = Buffer.alloc(32, 7).toString("base64url");
  const signed = (i: number) => {
    const proof = {
      kind: "own" as const,
      kid,
      jti: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
      protectedText: "e30",
      signature: Buffer.alloc(64),
    };
    return live.ledger.append(recordOf(i, { signature: "reporter", proof }));
  };
  const event = (fields: object) => live.ledger.appendKeyEvent(Buffer.from(JSON.stringify(fields)));
  await report(live, 0, 60);
  await Promise.all(Array.from({ length: 40 }, (_, i) => signed(1000 + i)));
  await write(live, believed(5));
  await report(live, 100, 60);
  const told = new Promise<void>((resolve) => live.tables.push(() => resolve()));
  await event({ event: "revoked", kid, at_ms: NOW_MS, compromised_since_ms: 0 });
  await told;
  await report(live, 200, 20);
  const table = tableOf(live);
  expect(openEngineReader(live.memory, 1).areStandingsInForce).toBe(true);
  expect(tableOf(await restart(dataDir, live)).equals(table)).toBe(true);
});

test("a start from a snapshot goes on with the standings that held", async () => {
  const dataDir = temporaryDirectory();
  const live = await start(dataDir, OFTEN);
  await report(live, 0, 50);
  await write(live, believed(5));
  await report(live, 50, 100);
  const snapshots = () => selectSnapshotNames(diskFileLayer.list(`${dataDir}/snapshots`)).length;
  for (let i = 150; snapshots() === 0; i++) await report(live, i, 1);
  await report(live, 5000, 50);
  const table = tableOf(live);
  const next = await restart(dataDir, live);
  expect(next.ledger.replay.snapshotLsn).toBeGreaterThan(50);
  expect(tableOf(next).equals(table)).toBe(true);
});

test("a batch replaces its own marks and no others", () => {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, loadDefaultConfig(), 1n);
  const reader = openEngineReader(memory, 1);
  const agent = "agent://shop/seller-1";
  const apply = (flags: number) =>
    writer.applyStandings({
      isInForce: true,
      stakesHigh: 0,
      agents: [{ agent, flags, credibility: 0.5, cluster: 0 }],
    });
  apply(0xff);
  const all = Object.values(STANDING_BITS).reduce((sum: number, bit) => sum + bit, 0);
  expect(reader.explain(agent, NOW_MS).flags).toBe(all);
  writer.markKeyRevoked(agent, true);
  apply(STANDING_BITS.seed);
  expect(reader.explain(agent, NOW_MS).flags).toBe(STANDING_BITS.seed | FLAG_KEY_REVOKED);
  writer.markKeyRevoked(agent, false);
  expect(reader.explain(agent, NOW_MS).flags).toBe(STANDING_BITS.seed);
});
