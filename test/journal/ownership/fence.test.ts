// Fence: a writer that was overtaken stops, wherever it looks next.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { OwnershipLost } from "../../../src/journal/faults.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { Fence } from "../../../src/journal/ownership/fence.ts";
import { buildThisProcessOwner, writeOwner } from "../../../src/journal/ownership/owner.ts";
import { startLedger } from "../../../src/ledger/client.ts";
import {
  NOW_MS,
  newKey,
  openCore,
  recordOf,
  runOf,
  temporaryDirectory,
} from "../../ledger/_fixtures.ts";

function owned(epoch = 5) {
  const root = temporaryDirectory();
  const owner = buildThisProcessOwner(root, epoch);
  writeOwner(root, owner);
  return { root, owner, fence: new Fence(diskFileLayer, root, { owner: owner.id, epoch }) };
}

test("a higher epoch or another owner stops a writer; missing files do not", () => {
  const { root, owner, fence } = owned();
  fence.assertOwner();
  writeFileSync(join(root, "epoch"), "6");
  expect(() => fence.assertOwner()).toThrow(
    /taken over by epoch 6, from this process with epoch 5/,
  );
  writeFileSync(join(root, "epoch"), "4");
  fence.assertOwner();
  writeOwner(root, { ...owner, id: "another", pid: 7, host: "box-b" });
  expect(() => fence.assertOwner()).toThrow(
    /taken over by pid 7 on host `box-b`, started .*, epoch 5/,
  );
  rmSync(join(root, "owner.json"));
  rmSync(join(root, "epoch"));
  fence.assertOwner();
});

test("commits look once a second, and where a segment begins", () => {
  const { root, owner, fence } = owned();
  const journal = join(root, "journal");
  mkdirSync(journal);
  const { core } = openCore(journal, newKey(), { fence, segmentBytesMax: 2000 });
  const commit = (index: number, nowMs: number) => core.commit([runOf([recordOf(index)])], nowMs);
  commit(1, NOW_MS);
  writeOwner(root, { ...owner, id: "another", epoch: 6 });
  // Within the second it goes on, up to the end of its segment.
  let index = 2;
  const fill = () => {
    for (; index < 20; index++) commit(index, NOW_MS + 999);
  };
  expect(fill).toThrow(OwnershipLost);
  expect(index).toBeGreaterThan(3);
  expect(readdirSync(journal).filter((name) => name.startsWith("seg-"))).toHaveLength(1);
  expect(() => commit(30, NOW_MS + 1000)).toThrow(OwnershipLost);
  expect(() => core.probeDisk()).toThrow(OwnershipLost);
  expect(core.lsn).toBe(index - 1);
  core.close();
});

test("a ledger that was overtaken refuses what waits and ends with 70, also at rest", async () => {
  const dataDir = temporaryDirectory();
  let nowMs = NOW_MS;
  const ends: [number, string | undefined][] = [];
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (exitCode, why) => ends.push([exitCode, why]),
    clock: () => nowMs,
  });
  await ledger.append(recordOf(1));
  writeFileSync(join(dataDir, "epoch"), "9");
  nowMs += 1000;
  await expect(ledger.append(recordOf(2))).rejects.toMatchObject({ code: "journal_unavailable" });
  await expect(ledger.append(recordOf(3))).rejects.toMatchObject({ code: "journal_unavailable" });
  expect(ends).toEqual([[70, expect.stringContaining("taken over by epoch 9")]]);
  // Another owner's file stays when this one lets go.
  const other = { ...buildThisProcessOwner(dataDir, 9), id: "another" };
  writeOwner(dataDir, other);
  await ledger.close();
  expect(readdirSync(dataDir)).toContain("owner.json");

  const next = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (exitCode, why) => ends.push([exitCode, why]),
    clock: () => nowMs,
  });
  expect(next.position()).toBe(1);
  writeOwner(dataDir, { ...other, epoch: 11 });
  await expect.poll(() => ends.length).toBe(2);
  expect(ends[1]).toEqual([70, expect.stringContaining("epoch 11")]);
  await next.close();
});
