// Lines of the log: their form, their levels, what is struck out of them.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { generateApiKey } from "../../src/http/access/key-format.ts";
import { LOG_LEVELS, type LogOptions, createLog } from "../../src/platform/log.ts";

const NOW = Date.UTC(2026, 10, 22, 12, 30, 59, 123);

function logged(options: LogOptions, say: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = [];
  say(
    createLog(
      (line) => lines.push(line),
      () => NOW,
      options,
    ),
  );
  return lines;
}

describe("a line of JSON", () => {
  it("has level, time and event before its facts", () => {
    const facts = { address: "0.0.0.0", count: 2, none: undefined, null: null };
    expect(logged({}, (log) => log.warn("metrics_listener_open", facts))).toEqual([
      '{"level":"warn","time":"2026-11-22T12:30:59.123Z","message":"metrics_listener_open",' +
        '"address":"0.0.0.0","count":2,"null":null}\n',
    ]);
  });

  it("is one line and one object, whatever the facts are", () => {
    const cyclic: Record<string, unknown> = { name: "itself" };
    cyclic["self"] = cyclic;
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.anything(), (text, value) => {
        const lines = logged({}, (log) => log.info("event", { text_of: text, value, cyclic }));
        expect(lines).toHaveLength(1);
        expect(lines[0]!.indexOf("\n")).toBe(lines[0]!.length - 1);
        expect(JSON.parse(lines[0]!)).toMatchObject({ message: "event", level: "info" });
      }),
    );
  });
});

describe("levels", () => {
  it.each(LOG_LEVELS.map((level, at) => [level, LOG_LEVELS.slice(0, at + 1)] as const))(
    "%s writes %j",
    (level, written) => {
      const lines = logged({ level }, (log) => {
        log.debug?.("d");
        log.info("i");
        log.warn("w");
        log.error("e");
      });
      const found = lines.map((line) => JSON.parse(line).level);
      expect(new Set(found)).toEqual(new Set(written));
      expect(found).toHaveLength(written.length);
    },
  );

  it("debug is not there to be called unless it is wanted", () => {
    expect(createLog(() => undefined, Date.now, { level: "info" })).not.toHaveProperty("debug");
  });
});

describe("what is struck out", () => {
  it("members that hold secrets and bodies", () => {
    const [line] = logged({}, (log) =>
      log.error("event", {
        authorization: "x1",
        head: { authorization: "x2", body: "x3", key_id: "kept" },
        key: "x4",
        admin_key: "x5",
        body: "x6",
      }),
    );
    expect(line).not.toMatch(/x\d/);
    expect(line).toContain('"key_id":"kept"');
  });

  it("API keys in any text, at any depth; their id stays", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("live", "test", "abcdefgh"),
        fc.string(),
        fc.string(),
        (environment, before, after) => {
          const { text, keyId, secret } = generateApiKey(environment);
          const error = new Error(`${before} ${text} ${after}`).stack;
          const facts = { error, list: [{ deep: { er: [text] } }], bearer: `Bearer ${text}` };
          const [line] = logged({}, (log) => log.error("event", facts));
          expect(line).not.toContain(secret);
          expect(line).toContain(`tr_${environment}_${keyId}_[redacted]`);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("other bearers, and an operator's own key with all that JSON escapes", () => {
    const own = 'own"key\\with-32-visible-characters!';
    const [line] = logged({ secrets: [own] }, (log) =>
      log.error("event", { detail: `${own} and Authorization: Bearer eyJhbGciOi.abc.def` }),
    );
    expect(JSON.parse(line!).detail).toBe("[redacted] and Authorization: Bearer [redacted]");
  });
});

describe("the form for people", () => {
  const human = (facts: Record<string, unknown>) =>
    logged({ format: "human" }, (log) => log.warn("store_error", facts))[0];

  it("has the time of day, the level, the event, the facts", () => {
    const facts = { table: "rows", detail: "two words", count: 3, list: [1] };
    expect(human(facts)).toBe(
      '12:30:59.123 WARN  store_error table=rows detail="two words" count=3 list=[1]\n',
    );
  });

  it("puts stacks below", () => {
    expect(human({ error: "Error: x\n    at y", a: 1 })).toBe(
      "12:30:59.123 WARN  store_error a=1\n  error:\n    Error: x\n        at y\n",
    );
  });

  it("writes nothing that a terminal would obey", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (one, other) => {
        const line = human({ one, both: `${one}\n${other}` })!;
        // oxlint-disable-next-line no-control-regex
        expect(line).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
      }),
    );
  });
});
