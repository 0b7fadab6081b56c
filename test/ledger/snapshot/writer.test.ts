// Memory of a snapshot: one buffer, which grows with the table while it is being made.
import { once } from "node:events";
import { MessageChannel } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { nodeFiles } from "../../../src/journal/files.ts";
import { serveSnapshotWriter } from "../../../src/ledger/snapshot/writer.ts";
import type { FromSnapshotWriter } from "../../../src/ledger/snapshot/taker.ts";

const MIB = 1024 * 1024;

function openWriter() {
  const { port1, port2 } = new MessageChannel();
  serveSnapshotWriter(port2, nodeFiles, "/nonexistent", 0);
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
