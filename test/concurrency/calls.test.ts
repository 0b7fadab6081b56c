// Pending calls by number, and replies as they cross between threads.
import { expect, test } from "vitest";
import { encodeReply, PendingCalls } from "../../src/concurrency/calls.ts";
import { ServiceFault } from "../../src/contract/faults.ts";

test("settles each call with the reply that carries its number, in any order", async () => {
  const calls = new PendingCalls();
  const ids: number[] = [];
  const [first, second] = [1, 2].map(() => calls.start<string>((id) => ids.push(id)));
  expect(new Set(ids).size).toBe(2);
  expect(calls.size).toBe(2);
  calls.settle(ids[1]!, { value: "second" });
  calls.resolve(ids[0]!, "first");
  expect(await Promise.all([first, second])).toEqual(["first", "second"]);
  expect(calls.size).toBe(0);
  calls.settle(ids[0]!, { value: "again" });
});

test("carries values, faults with their wait, and other errors across", async () => {
  const outcomes = [
    Promise.resolve(7),
    Promise.reject(new ServiceFault("overloaded", "too many", [], 3)),
    Promise.reject(new TypeError("not a number")),
  ];
  const calls = new PendingCalls();
  const settled = outcomes.map(async (outcome) => {
    let callId = 0;
    const result = calls.start((id) => (callId = id));
    calls.settle(callId, structuredClone(await encodeReply(outcome)));
    return result;
  });
  const [value, fault, failure] = await Promise.allSettled(settled);
  expect(value).toMatchObject({ value: 7 });
  expect((fault as PromiseRejectedResult).reason).toBeInstanceOf(ServiceFault);
  expect(fault).toMatchObject({
    reason: { code: "overloaded", detail: "too many", retryAfterSec: 3 },
  });
  expect((failure as PromiseRejectedResult).reason.message).toContain("TypeError: not a number");
});

test("rejects all pending calls, each by its context", async () => {
  const calls = new PendingCalls<string>();
  const pending = ["a", "b"].map((name) => calls.start(() => undefined, name));
  calls.rejectAll((name) => new Error(`lost ${name}`));
  expect(calls.size).toBe(0);
  expect(await Promise.allSettled(pending)).toMatchObject([
    { reason: { message: "lost a" } },
    { reason: { message: "lost b" } },
  ]);
});

test("a call that could not be sent is rejected and forgotten", async () => {
  const calls = new PendingCalls();
  const sent = calls.start(() => {
    throw new Error("could not be cloned");
  });
  await expect(sent).rejects.toThrow("could not be cloned");
  expect(calls.size).toBe(0);
});
