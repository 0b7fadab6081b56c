// Lines that the client logs as warnings, recorded instead of printed.
import { afterEach, beforeEach, type MockInstance, vi } from "vitest";

/** Records during each test of the file; the function returned gives the lines so far. */
export function recordWarnings(): () => string[] {
  let warnings: MockInstance<typeof console.warn>;
  beforeEach(() => {
    warnings = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  });
  afterEach(() => warnings.mockRestore());
  return () => warnings.mock.calls.map(([line]) => line as string);
}
