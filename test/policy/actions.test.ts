// Entries of a policy's `actions`: the table, the matcher against a slow reference, and that nothing that a
// caller adds to a request lowers its level unless its key is trusted.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ActionEntry, RequestFacts } from "../../src/contract/actions.ts";
import { parsePolicy } from "../../src/contract/parse/policy.ts";
import { TOOL_LEVELS } from "../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import { compileActions, decideAction } from "../../src/policy/actions.ts";
import type { ActionQuery } from "../../src/policy/actions.ts";
import { ACTION_ROWS, ACTIONS } from "./_actions.ts";

const compile = (actions: ActionEntry[]) => compileActions(parsePolicy({ actions }))!;
const QUERY: ActionQuery = {
  action: "a.b",
  toolLevel: undefined,
  stakes: undefined,
  facts: {},
  assertsProperties: false,
};
const decide = (actions: ActionEntry[], query: Partial<ActionQuery>) =>
  decideAction(compile(actions), { ...QUERY, ...query });

describe("the table", () => {
  it.each(ACTION_ROWS)("%o", (row) => {
    const facts = { resource: { id: row.resource }, context: { env: row.env } };
    const query = { action: row.action, toolLevel: row.named, facts };
    const decided = decide(ACTIONS, { ...query, assertsProperties: row.isTrusted });
    expect(decided).toMatchObject({ entry: row.entry, toolLevel: row.level });
  });
});

describe("stakes", () => {
  const actions: ActionEntry[] = [
    { match: "*", level: "L2", stakes: "/resource/properties/a~1b/0" },
  ];
  const facts = (value: unknown): RequestFacts => ({
    resource: { properties: { "a/b": [value] } },
  });

  it("are read by the pointer; the larger of both counts, and nothing there is nothing named", () => {
    expect(decide(actions, { facts: facts(12.5) }).stakes).toBe(12.5);
    expect(decide(actions, { facts: facts(12.5), stakes: 5 }).stakes).toBe(12.5);
    expect(decide(actions, { facts: facts(12.5), stakes: 50 }).stakes).toBe(50);
    expect(decide(actions, { stakes: 5 }).stakes).toBe(5);
    expect(decide(actions, {}).stakes).toBeUndefined();
  });

  it.each(["12", -1, Number.NaN, 1e13, null, {}, true])("that are %o are refused", (value) => {
    expect(() => decide(actions, { facts: facts(value) })).toThrow(
      expect.objectContaining({
        code: "invalid_request",
        errors: [expect.objectContaining({ pointer: "/resource/properties/a~1b/0" })],
      }),
    );
  });

  it("of an entry that a condition would step around still count", () => {
    const both: ActionEntry[] = [
      { match: "*", when: { "/context/dry": true }, level: "L0" },
      { match: "*", level: "L2", stakes: "/context/amount" },
    ];
    const context = { dry: true, amount: 900 };
    expect(decide(both, { facts: { context } })).toEqual({
      entry: 1,
      toolLevel: "L2",
      stakes: 900,
    });
    const trusted = decide(both, { facts: { context }, assertsProperties: true });
    expect(trusted).toEqual({ entry: 0, toolLevel: "L0", stakes: undefined });
  });
});

it("reads own members alone", () => {
  const when = { "/context/constructor/name": "Object" };
  expect(decide([{ match: "*", when, level: "L0" }], { facts: { context: {} } }).entry).toBe(-1);
  const list = { "/context/list/length": 2 };
  const facts = { context: { list: [1, 2] } };
  expect(decide([{ match: "*", when: list, level: "L0" }], { facts }).entry).toBe(-1);
});

it("a policy without entries has none to try, and keeps its version", () => {
  expect(createActivePolicy(parsePolicy({})).actions).toBeUndefined();
  const versionOf = (document: object) => createActivePolicy(parsePolicy(document)).version;
  expect(versionOf({ actions: [] })).toBe(versionOf({}));
  expect(versionOf({ actions: ACTIONS })).not.toBe(versionOf({}));
});

// A few words make matches and near misses frequent.
const word = fc.constantFrom("wire", "wi", "db", "x");
const action = fc.array(word, { minLength: 2, maxLength: 4 }).map((words) => words.join("."));
const resource = fc
  .tuple(word, fc.array(fc.tuple(fc.constantFrom(".", "/", ":"), word), { maxLength: 3 }))
  .map(([first, rest]) => first + rest.flat().join(""));
const starred = (text: fc.Arbitrary<string>) =>
  fc.oneof(
    text,
    fc.constant("*"),
    text.map((each) => each.replace(/[^./:]+$/, "*")),
  );
const value = fc.constantFrom<string | number | boolean>("a", "b", 1, true);
const conditions = fc.dictionary(fc.constantFrom("/context/p", "/context/q"), value, {
  minKeys: 1,
  noNullPrototype: true,
});
const entry: fc.Arbitrary<ActionEntry> = fc.record(
  {
    match: starred(action),
    resource: starred(resource),
    when: conditions,
    level: fc.constantFrom(...TOOL_LEVELS),
    stakes: fc.constant("/context/amount"),
  },
  { requiredKeys: ["match", "level"] },
);
const entries = fc.uniqueArray(entry, {
  minLength: 1,
  maxLength: 8,
  selector: ({ match, resource: named, when }) =>
    JSON.stringify([
      match,
      named,
      Object.entries(when ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ]),
});
const context = fc.record(
  { p: value, q: value, amount: fc.constantFrom(0, 7, 900) },
  { requiredKeys: [] },
);
const query = fc
  .record({
    action,
    toolLevel: fc.option(fc.constantFrom(...TOOL_LEVELS), { nil: undefined }),
    stakes: fc.option(fc.constantFrom(0, 50), { nil: undefined }),
    resource: fc.option(resource, { nil: undefined }),
    context,
    assertsProperties: fc.boolean(),
  })
  .map(({ resource: id, context: facts, ...rest }): ActionQuery => {
    return { ...rest, facts: { resource: { id }, context: facts } };
  });

/** By segments, as the rule is worded: the star stands for one or more further segments. */
function matchesSegments(pattern: string, text: string): boolean {
  if (text === "") return false;
  const split = (each: string) => each.split(/(?<=[./:])/);
  const [want, have] = [split(pattern), split(text)];
  if (want.at(-1) !== "*") return pattern === text;
  const fixed = want.slice(0, -1);
  return have.length > fixed.length && fixed.every((each, at) => have[at] === each);
}

function reference(actions: readonly ActionEntry[], asked: ActionQuery) {
  const { facts, assertsProperties, toolLevel } = asked;
  const request = facts as { resource: { id?: string }; context: Record<string, unknown> };
  const rank = (level: string) => (TOOL_LEVELS as readonly string[]).indexOf(level);
  const found = actions.filter(
    ({ match, resource: named, when = {} }) =>
      matchesSegments(match, asked.action) &&
      (named === undefined || matchesSegments(named, request.resource.id ?? "")) &&
      Object.entries(when).every(([at, want]) => request.context[at.split("/")[2]!] === want),
  );
  const firm = found.findIndex(({ when }) => assertsProperties || when === undefined);
  const counted = firm < 0 ? found : found.slice(0, firm + 1);
  const own = firm < 0 ? [toolLevel ?? "L3"] : [toolLevel ?? "L0"];
  const level = Math.max(...[...counted.map((each) => each.level), ...own].map(rank));
  const amounts = counted.flatMap(({ stakes }) =>
    stakes === undefined ? [] : [request.context["amount"]],
  );
  const stakes = [asked.stakes, ...amounts].filter((each) => each !== undefined) as number[];
  return {
    toolLevel: TOOL_LEVELS[level],
    stakes: stakes.length === 0 ? undefined : Math.max(...stakes),
  };
}

describe("the matcher", () => {
  it("decides as the slow reference does", () => {
    fc.assert(
      fc.property(entries, query, (actions, asked) => {
        const { toolLevel, stakes } = decideAction(compile(actions), asked);
        expect({ toolLevel, stakes }).toEqual(reference(actions, asked));
      }),
      { numRuns: 800 },
    );
  });

  it("without trust never gives less than without the caller's properties", () => {
    fc.assert(
      fc.property(entries, query, (actions, asked) => {
        const bare = { ...asked.facts, context: {} };
        const untrusted = { ...asked, assertsProperties: false };
        const rank = (facts: RequestFacts) =>
          TOOL_LEVELS.indexOf(decideAction(compile(actions), { ...untrusted, facts }).toolLevel);
        expect(rank(asked.facts)).toBeGreaterThanOrEqual(rank(bare));
      }),
      { numRuns: 500 },
    );
  });

  it("never gives less than the level that the request names", () => {
    fc.assert(
      fc.property(entries, query, fc.constantFrom(...TOOL_LEVELS), (actions, asked, named) => {
        const { toolLevel } = decideAction(compile(actions), { ...asked, toolLevel: named });
        expect(TOOL_LEVELS.indexOf(toolLevel)).toBeGreaterThanOrEqual(TOOL_LEVELS.indexOf(named));
      }),
    );
  });
});
