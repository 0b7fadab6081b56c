// Parser of server-sent events: the same events whatever the pieces they arrive in.
import fc from "fast-check";
import { expect, it } from "vitest";
import { isAffected } from "../../../src/client/changes/change.ts";
import { EventStreamParser, type ServerEvent } from "../../../src/client/changes/event-stream.ts";

const word = fc.stringMatching(/^[a-z0-9 :{}"-]{0,12}$/);

it("reads every event once, in pieces of any size and with any line break", () => {
  const event = fc.record({
    event: fc.stringMatching(/^[a-z]{1,8}$/),
    id: fc.stringMatching(/^[a-z0-9-]{0,12}$/),
    data: fc.array(word, { minLength: 1, maxLength: 3 }),
  });
  const breaks = fc.constantFrom("\n", "\r\n", "\r");
  fc.assert(
    fc.property(
      fc.array(event),
      breaks,
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      (events, end, sizes) => {
        const lines = events.flatMap(({ event: name, id, data }) => [
          ": comment",
          `event:${name}`,
          `id: ${id}`,
          ...data.map((line) => `data: ${line}`),
          "",
        ]);
        const text = `${lines.join(end)}${end}${end}:`;
        const parser = new EventStreamParser();
        const seen: ServerEvent[] = [];
        for (let from = 0; from < text.length;) {
          const { value: size } = sizes.next();
          seen.push(...parser.push(text.slice(from, from + size)));
          from += size;
        }
        expect(seen).toEqual(
          events.map(({ data, ...rest }) => ({ ...rest, data: data.join("\n") })),
        );
      },
    ),
  );
});

it("refuses an event that never ends", () => {
  const parser = new EventStreamParser();
  expect(() => {
    for (let count = 0; count < 100; count++) parser.push(`data: ${"x".repeat(1000)}\n`);
  }).toThrow(RangeError);
});

it("a change outdates the verdicts of its agent, of its namespace, or of all", () => {
  const about = (agent: string | null, namespace: string | null) =>
    ["agent://acme/a", "agent://acme2/a", "plain"].filter((id) =>
      isAffected({ kind: "x", agent, namespace }, id),
    );
  expect(about("agent://acme/a", null)).toEqual(["agent://acme/a"]);
  expect(about("plain", "acme")).toEqual(["plain"]);
  expect(about(null, "acme")).toEqual(["agent://acme/a"]);
  expect(about(null, null)).toHaveLength(3);
});
