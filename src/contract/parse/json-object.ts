// The test for a JSON object, and the body that must be one where no schema says more of it.
import { invalidRequest } from "../faults.ts";

/** True for a JSON object. Its members may still be anything. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The body as an object. Throws ServiceFault `invalid_request` pointing at the root. */
export function requireObjectBody(value: unknown): Record<string, unknown> {
  if (isObject(value)) return value;
  throw invalidRequest([{ pointer: "", code: "type", detail: "must be an object" }]);
}
