// Every statement of the specification has a state and a test that shows it: most are checked here, over direct call,
// HTTP and client, against the sample history and the reserved agents; some name a test of another file.
// A title begins with the line's id, as in docs/contract.md: `npm test -- test/spec/lines.test.ts -t 2.3-score`.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CALL_CHECKS } from "./_checks-calls.ts";
import { CLIENT_CHECKS } from "./_checks-client.ts";
import { LEG_CHECKS } from "./_checks-legs.ts";
import { ERROR_CHECKS } from "./_checks-errors.ts";
import { LIMIT_CHECKS } from "./_checks-limits.ts";
import { OUTCOME_CHECKS } from "./_checks-outcomes.ts";
import { SERVICE_CHECKS } from "./_checks-service.ts";
import { VERIFY_CHECKS } from "./_checks-verify.ts";
import { type LineChecks, type LineSetting, openLineSetting } from "./_line-setting.ts";
import {
  LINE_STATES,
  LINES,
  listSections,
  type OtherTest,
  REACHES,
  readSection,
} from "./_lines.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const readFile = (path: string) => readFileSync(join(ROOT, path), "utf8");
const DOORS = [
  "direct call",
  "HTTP",
  "client",
  "HTTP at a further thread",
  "client at a further thread",
];
/** Of the specification; 2, 4 and 8 have only numbered parts. */
const SECTIONS = [
  "1",
  "2.1",
  "2.2",
  "2.3",
  "2.4",
  "2.5",
  "2.6",
  "2.7",
  "2.8",
  "3",
  "4",
  "4.1",
  "4.2",
  "4.3",
  "4.4",
  "4.5",
  "4.6",
  "4.7",
  "4.8",
  "4.9",
  "5.1",
  "5.2",
  "5.3",
  "5.4",
  "6",
  "7",
  "8.1",
  "8.2",
  "8.3",
  "8.4",
  "8.5",
  "9",
];

const CHECKS: Readonly<Record<string, LineChecks>> = {
  ...SERVICE_CHECKS,
  ...VERIFY_CHECKS,
  ...LEG_CHECKS,
  ...OUTCOME_CHECKS,
  ...CALL_CHECKS,
  ...CLIENT_CHECKS,
  ...ERROR_CHECKS,
  ...LIMIT_CHECKS,
};

let setting: LineSetting;
beforeAll(async () => {
  setting = await openLineSetting();
});
afterAll(() => setting.close());

describe("the list", () => {
  test("has lines of every section, each with one id", () => {
    expect(listSections().toSorted()).toEqual(SECTIONS.toSorted());
    const ids = LINES.map(({ id }) => id);
    expect(ids.length).toBe(new Set(ids).size);
  });

  test.each(LINES.map((line) => [line.id, line] as const))(
    "gives %s a state and a test",
    (id, line) => {
      expect(LINE_STATES).toContain(line.state);
      expect(line.says.length).toBeGreaterThan(10);
      if (line.state !== "met")
        expect(line.here, "what is missing or was chosen").toBeTypeOf("string");
      expect(line.by.length).toBeGreaterThan(0);
      const named = line.by.filter((by) => typeof by === "string");
      expect(Object.keys(CHECKS[id] ?? {}).toSorted()).toEqual(named.toSorted());
      expect(SECTIONS).toContain(readSection(id));
    },
  );

  test("has a line for every check", () => {
    const ids = new Set(LINES.map(({ id }) => id));
    expect(Object.keys(CHECKS).filter((id) => !ids.has(id))).toEqual([]);
    for (const reach of REACHES)
      expect(
        LINES.some(({ by }) => by.includes(reach)),
        reach,
      ).toBe(true);
  });

  const others = LINES.flatMap(({ id, by }) =>
    by
      .filter((each): each is OtherTest => typeof each !== "string")
      .map((each) => [id, ...each] as const),
  );
  test.each(others)("%s: %s has the test `%s`", (_, path, title) => {
    expect(existsSync(join(ROOT, path)), path).toBe(true);
    const titles = [
      ...readFile(path).matchAll(/\b(?:it|test)(?:\.each\([^]*?\))?\(\s*"((?:[^"\\]|\\.)*)"/g),
    ];
    expect(titles.map(([, found]) => found)).toContain(title);
  });
});

const withCheck = (reach: keyof LineChecks) =>
  LINES.filter(({ by }) => by.includes(reach)).map(({ id, says }) => [id, says] as const);

// A check that compares nothing fails.
describe.each(DOORS.map((name, at) => [name, at] as const))("over %s", (_, at) => {
  test.each(withCheck("all"))("%s: %s", async (id) => {
    expect.hasAssertions();
    await CHECKS[id]!.all!(setting.world.doors[at]!, setting);
  });
});

describe("over HTTP, at the service as the command starts it", () => {
  test.each(withCheck("HTTP"))("%s: %s", async (id) => {
    expect.hasAssertions();
    await CHECKS[id]!.HTTP!(setting);
  });
});

describe("by the client", () => {
  test.each(withCheck("client"))("%s: %s", async (id) => {
    expect.hasAssertions();
    await CHECKS[id]!.client!(setting);
  });
});

describe("by measured figures", () => {
  test.each(withCheck("figures"))("%s: %s", (id) => {
    expect.hasAssertions();
    CHECKS[id]!.figures!(readFile("bench/RESULTS.md"));
  });
});
