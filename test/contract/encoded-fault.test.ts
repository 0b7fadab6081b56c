// A fault that crosses threads arrives whole.
import { expect, it } from "vitest";
import { decodeFault, encodeFault } from "../../src/contract/encoded-fault.ts";
import { ServiceFault } from "../../src/contract/faults.ts";

it("survives a structured clone: code, detail, errors and the advice when to retry", () => {
  const errors = [{ pointer: "/stakes", code: "range", detail: "is below 0" }] as const;
  const fault = new ServiceFault("overloaded", "too many batches are waiting", errors, 7);
  const decoded = decodeFault(structuredClone(encodeFault(fault)));
  expect(decoded).toBeInstanceOf(ServiceFault);
  expect(decoded).toEqual(fault);
  expect(decoded.retryAfterSec).toBe(7);
});
