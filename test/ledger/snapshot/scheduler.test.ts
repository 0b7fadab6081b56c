// Writing of a snapshot: one buffer, which grows with the table while it is being made, and every part
// of the state on disk.
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { MessageChannel } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { ReplayTable } from "../../../src/ledger/replay-table.ts";
import { loadSnapshot } from "../../../src/ledger/snapshot/files.ts";
import { formatSnapshotName } from "../../../src/ledger/snapshot/format.ts";
import {
  serveSnapshotWriter,
  type FromSnapshotWriter,
  SnapshotScheduler,
  computeSnapshotPace,
} from "../../../src/ledger/snapshot/scheduler.ts";

const MIB = 1024 * 1024;

function openWriter() {
  const { port1, port2 } = new MessageChannel();
  serveSnapshotWriter(port2, diskFileLayer, "/nonexistent", 0);
  onTestFinished(() => port1.close());
  return async (bytes: number): Promise<SharedArrayBuffer> => {
    port1.postMessage({ kind: "buffer", bytes });
    const [message] = (await once(port1, "message")) as [FromSnapshotWriter];
    if (message.kind !== "buffer") throw new Error(JSON.stringify(message));
    return message.buffer;
  };
}

test("a table that outgrows the buffer gets more of the same", async () => {
  const ask = openWriter();
  const first = await ask(MIB);
  new Uint8Array(first)[0] = 7;
  const second = await ask(3 * MIB);
  expect(second.byteLength).toBe(3 * MIB);
  expect(first.byteLength).toBe(3 * MIB);
  expect(new Uint8Array(second)[0]).toBe(7);
});

test("a table beyond the room to grow gets another", async () => {
  const ask = openWriter();
  const first = await ask(MIB);
  const second = await ask(9 * MIB);
  expect(second.byteLength).toBe(9 * MIB);
  expect(first.byteLength).toBe(MIB);
});

test("every part of the state is read back as it was copied", async () => {
  const directory = mkdtempSync(`${tmpdir()}/trustrank-snapshot-`);
  const { port1, port2 } = new MessageChannel();
  serveSnapshotWriter(port2, diskFileLayer, directory, 0);
  const table = Buffer.from("the agent table");
  const identity = { layoutVersion: 1, engineDigest: Buffer.alloc(32, 7), seed: 9n };
  const point = {
    lsn: 12,
    chain: Buffer.alloc(32, 3),
    outcomes: 10,
    keyEvents: [Buffer.from("key")],
    policies: [Buffer.from("policy"), Buffer.from("another")],
    sources: [{ segment: 1, offset: 128 }],
    reviews: [Buffer.from("a review"), Buffer.from("and one more")],
    conditions: [Buffer.from("a condition")],
    stream: Buffer.from("progress"),
  };
  const events: string[] = [];
  const done = Promise.withResolvers<void>();
  const taker = new SnapshotScheduler({
    point: () => point,
    isRefolding: () => false,
    guard: new ReplayTable(),
    image: () =>
      ({ layoutVersion: 1, countBytes: () => table.length, viewParts: () => [table] }) as never,
    identity,
    pace: computeSnapshotPace(1),
    outcomesSaved: 0,
    nowMs: 0,
    startWriter: () => port1,
    log: (event, detail) => {
      events.push(event);
      if (event === "snapshot_failed") done.reject(new Error(detail));
      if (event === "snapshot_written") done.resolve();
    },
  });
  taker.runIfDue(1);
  await done.promise;
  const read = Buffer.alloc(table.length);
  const path = `${directory}/${formatSnapshotName(point.lsn)}`;
  const { guard, ...found } = loadSnapshot(diskFileLayer, path, identity, () => [read]);
  expect(read).toEqual(table);
  expect(guard).toHaveLength(0);
  expect(found).toEqual(point);
  expect(events).toEqual(["snapshot_copied", "snapshot_written"]);
});
