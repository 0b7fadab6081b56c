// Queries of lists of agents and outcomes: what is read, and what is refused by name.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseAgentQuery,
  parseFirstDay,
  parseOutcomeQuery,
  formatAgentCursor,
} from "../../../src/contract/parse/agent-query.ts";

const agents = (text: string) => parseAgentQuery(new URLSearchParams(text));
const outcomes = (text: string) => parseOutcomeQuery(new URLSearchParams(text));

describe("a query for agents", () => {
  it("is by name, a hundred a page, unless it says otherwise", () => {
    expect(agents("")).toMatchObject({ order: "name", limit: 100, after: undefined });
    expect(agents("prefix=agent://a/&tier=B&order=-score&limit=7&contains=x")).toMatchObject({
      prefix: "agent://a/",
      contains: "x",
      tier: "B",
      order: "-score",
      limit: 7,
    });
  });

  it("takes a page of no agents, for the total", () => {
    expect(agents("limit=0")).toMatchObject({ limit: 0 });
  });

  it.each([
    ["tier=E", "`tier` must be one of"],
    ["order=risk", "`order` must be one of"],
    ["limit=1001", "`limit` must be 0 to 1000"],
    ["limit=-1", "`limit` must be 0 to 1000"],
    ["prefix=", "`prefix` must be 1 to"],
    [`contains=${"x".repeat(600)}`, "`contains` must be 1 to"],
    ["after=agent://a/b", "`after` must be"],
    ["after=1e9999~agent", "`after` must be"],
  ])("refuses %s", (text, detail) => {
    expect(() => agents(text)).toThrow(detail);
  });

  it("takes every place that it gives", () => {
    const value = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 });
    const name = fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" });
    fc.assert(
      fc.property(value, name, (number, agent) => {
        const place = { value: number, agent };
        const query = new URLSearchParams({ after: formatAgentCursor(place) });
        const { after } = agents(query.toString());
        expect(after!.agent).toBe(agent);
        // `-0` is written as `0`: the same place.
        expect(after!.value === number).toBe(true);
      }),
    );
  });
});

describe("a query for outcomes or days", () => {
  it("reads a position and names", () => {
    expect(outcomes("subject=a&reporter=b&before=12&limit=3")).toEqual({
      subject: "a",
      reporter: "b",
      before: 12,
      limit: 3,
    });
    expect(() => outcomes("before=yesterday")).toThrow("`before` must be a position");
  });

  it("counts today among the days", () => {
    const nowMs = Date.parse("2026-03-01T12:00:00Z");
    expect(parseFirstDay("1", nowMs)).toBe("2026-03-01");
    expect(parseFirstDay(null, nowMs)).toBe("2025-12-02");
    for (const bad of ["0", "401", "-1", "x", ""]) {
      expect(() => parseFirstDay(bad, nowMs), bad).toThrow("`days` must be 1 to 400");
    }
  });
});
