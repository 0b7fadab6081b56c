// Identifiers of works: known good ones, and the property that a check digit exists to have: any
// single wrong digit shows.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  checkSourceId,
  isIsbn,
  isIssn,
  isOrcid,
} from "../../../src/vault/sources/publication-ids.ts";

const NOW = Date.UTC(2026, 5, 15);
const validity = (id: string) => checkSourceId(id, () => NOW).validity;

describe("identifiers", () => {
  it.each([
    ["isbn:978-0-306-40615-7", "valid"],
    ["isbn:0-306-40615-2", "valid"],
    ["isbn:043942089X", "valid"],
    ["isbn:978-0-306-40615-8", "malformed"],
    ["isbn:977-0-306-40615-7", "malformed"],
    ["issn:0378-5955", "valid"],
    ["issn:2434-561X", "valid"],
    ["issn:0378-5954", "malformed"],
    ["orcid:0000-0002-1825-0097", "valid"],
    ["orcid:0000-0002-1694-233X", "valid"],
    ["orcid:0000-0002-1825-0098", "malformed"],
    ["doi:10.1000/182", "valid"],
    ["doi:10.1/x", "doubtful"],
    ["https://doi.org/10.1038/s41586-020-2649-2", "valid"],
    ["arxiv:0704.0001", "valid"],
    ["arxiv:1412.9999", "valid"],
    ["arxiv:1501.00001v2", "valid"],
    ["arxiv:1501.0001", "malformed"],
    ["arxiv:1412.00001", "malformed"],
    ["arxiv:0703.0001", "malformed"],
    ["arxiv:2113.00001", "malformed"],
    ["arxiv:2607.00001", "malformed"],
    ["arxiv:hep-th/9901001", "valid"],
    ["arxiv:math.GT/0309136", "valid"],
    ["arxiv:hep-th/1501001", "malformed"],
    ["https://arxiv.org/abs/2401.12345", "valid"],
    ["https://arxiv.org/abs/2413.12345", "malformed"],
    ["https://www.example.org/page", "valid"],
    ["http://localhost/x", "doubtful"],
    ["https://intranet/x", "doubtful"],
    ["https://10.1.2.3/x", "doubtful"],
    ["https://8.8.8.8/x", "valid"],
    ["https://0x7f000001/x", "doubtful"],
    ["https://[::1]/x", "doubtful"],
    ["https://", "malformed"],
    [`sha256:${"a".repeat(64)}`, "valid"],
    [`sha256:${"a".repeat(63)}`, "malformed"],
    ["handbook-2026, section 4", "valid"],
    ["team:document", "valid"],
  ])("calls `%s` %s", (id, expected) => {
    expect(validity(id)).toBe(expected);
  });

  const digits = (count: number) =>
    fc.array(fc.integer({ min: 0, max: 9 }), { minLength: count, maxLength: count });

  /** The one check digit that makes a body valid, by trial. */
  function complete(body: string, isValid: (text: string) => boolean): string[] {
    return Array.from("0123456789X", (check) => body + check).filter(isValid);
  }

  it.each([
    ["ISBN-13", 9, "978", isIsbn],
    ["ISBN-10", 9, "", isIsbn],
    ["ISSN", 7, "", isIssn],
    ["ORCID", 15, "", isOrcid],
  ] as const)("%s: one check digit per number, and no single wrong digit passes", (...given) => {
    const [, count, prefix, isValid] = given;
    fc.assert(
      fc.property(digits(count), fc.nat(), fc.integer({ min: 1, max: 9 }), (body, place, by) => {
        const completed = complete(prefix + body.join(""), isValid);
        expect(completed).toHaveLength(1);
        const at = prefix.length + (place % count);
        const digit = (Number(completed[0]![at]) + by) % 10;
        const wrong = completed[0]!.slice(0, at) + digit + completed[0]!.slice(at + 1);
        expect(isValid(wrong)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it("never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 80 }), (text) => {
        for (const scheme of ["", "isbn:", "doi:", "arxiv:", "https://", "https://doi.org/"]) {
          expect(["valid", "malformed", "doubtful"]).toContain(validity(scheme + text));
        }
      }),
    );
  });
});
