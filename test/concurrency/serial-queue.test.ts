// Serial queue: order, failures and the end.
import { expect, it } from "vitest";
import { SerialQueue } from "../../src/concurrency/serial-queue.ts";

it("runs one task after another, also after a failure", async () => {
  const queue = new SerialQueue();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue.run(async () => {
    log.push("first begins");
    await gate.promise;
    log.push("first ends");
    throw new Error("first failed");
  });
  const second = queue.run(() => {
    log.push("second");
    return 2;
  });
  gate.resolve();
  await expect(first).rejects.toThrow("first failed");
  expect(await second).toBe(2);
  expect(log).toEqual(["first begins", "first ends", "second"]);
});

it("is drained once all tasks added before have ended", async () => {
  const queue = new SerialQueue();
  let isDone = false;
  const failing = queue.run(async () => {
    await Promise.resolve();
    isDone = true;
    throw new Error("no");
  });
  await queue.drained();
  expect(isDone).toBe(true);
  await expect(failing).rejects.toThrow("no");
});
