// Faults as plain objects: an instance of a class does not survive the crossing between threads or processes.
import { type FaultCode, type FieldError, ServiceFault } from "./faults.ts";

/** A ServiceFault as structured clone or JSON keeps it. */
export interface EncodedFault {
  readonly code: FaultCode;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  readonly retryAfterSec: number | undefined;
}

export function encodeFault(fault: ServiceFault): EncodedFault {
  const { code, detail, errors, retryAfterSec } = fault;
  return { code, detail, errors, retryAfterSec };
}

/** The fault that `encodeFault` was given. */
export function decodeFault(encoded: EncodedFault): ServiceFault {
  return new ServiceFault(encoded.code, encoded.detail, encoded.errors, encoded.retryAfterSec);
}
