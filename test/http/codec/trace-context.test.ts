// W3C Trace Context: which headers are taken, and what is read of them.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseTraceContext,
  normalizeTraceparent,
  parseTraceId,
} from "../../../src/http/codec/trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const VALID = `00-${TRACE}-${PARENT}-01`;

const hex = (length: number) =>
  fc.string({
    unit: fc.constantFrom(...Array.from("0123456789abcdef")),
    minLength: length,
    maxLength: length,
  });

describe("traceparent", () => {
  it("of version 00 is taken as it is", () => {
    expect(normalizeTraceparent(VALID)).toBe(VALID);
    expect(parseTraceContext(VALID)).toEqual({ traceId: TRACE, parentId: PARENT, isSampled: true });
    expect(parseTraceId(VALID)).toBe(TRACE);
  });

  it("is ignored when it is not what the standard writes", () => {
    for (const wrong of [
      "",
      VALID.toUpperCase(),
      `${VALID}-00`,
      `${VALID}0`,
      ` ${VALID}`,
      `${VALID}\n`,
      VALID.replace("00-", "ff-"),
      VALID.replace("00-", "0x-"),
      VALID.slice(0, -1),
      VALID.replaceAll("-", "_"),
      `00-${"0".repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${"0".repeat(16)}-01`,
      `${VALID}, ${VALID}`,
      // A later version may have more parts, behind a dash.
      `01-${TRACE}-${PARENT}-01x`,
      `01-${TRACE}-${PARENT}`,
    ]) {
      expect([wrong, normalizeTraceparent(wrong)]).toEqual([wrong, undefined]);
      expect([wrong, parseTraceContext(wrong)]).toEqual([wrong, undefined]);
      expect([wrong, parseTraceId(wrong)]).toEqual([wrong, ""]);
    }
    expect(normalizeTraceparent(undefined)).toBeUndefined();
    expect(parseTraceContext(undefined)).toBeUndefined();
  });

  it("of a later version is read as far as 00 goes, and becomes one of 00", () => {
    expect(normalizeTraceparent(`cc-${TRACE}-${PARENT}-09-what-is-new`)).toBe(VALID);
    expect(normalizeTraceparent(`01-${TRACE}-${PARENT}-fe`)).toBe(`00-${TRACE}-${PARENT}-00`);
    expect(parseTraceContext(`01-${TRACE}-${PARENT}-fe`)?.isSampled).toBe(false);
  });

  it("gives back the parts that it was made of", () => {
    fc.assert(
      fc.property(hex(2), hex(32), hex(16), hex(2), (version, traceId, parentId, flags) => {
        const isValid = version !== "ff" && /[^0]/.test(traceId) && /[^0]/.test(parentId);
        const isSampled = Number.parseInt(flags, 16) % 2 === 1;
        const header = `${version}-${traceId}-${parentId}-${flags}`;
        const parts = { traceId, parentId, isSampled };
        expect(parseTraceContext(header)).toEqual(isValid ? parts : undefined);
        expect(parseTraceId(header)).toBe(isValid ? traceId : "");
        const again = normalizeTraceparent(header);
        expect(parseTraceContext(again)).toEqual(isValid ? parts : undefined);
      }),
    );
  });

  it("of any text is taken by all of them or by none", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), (text) => {
        expect(parseTraceContext(text)).toBeUndefined();
        expect(parseTraceId(text)).toBe("");
      }),
    );
  });
});
