// Lines of the log about messages that were passed over, on a clock of the test.
import { expect, test } from "vitest";
import { IgnoredMessageReporter } from "../../src/stream/ignored-messages.ts";

test("a thousand messages are one line at once and one after ten seconds, and all are counted", () => {
  let nowMs = 5;
  const counted: number[] = [];
  const lines: string[] = [];
  const reporter = new IgnoredMessageReporter({
    figures: { addIgnored: (count) => counted.push(count) },
    generation: 3,
    clock: () => 1000,
    monotonic: () => nowMs,
    tell: (detail) => lines.push(detail),
  });
  const message = (seq: number) => ({
    seq,
    reason: "it carries no valid seal",
    origin: `x:${seq}`,
  });
  for (let seq = 1; seq <= 1000; seq += 1) {
    reporter.add([message(seq)]);
    nowMs += 5;
  }
  expect(lines).toEqual([
    "message 1 of generation 3 is passed over: it carries no valid seal; it claims origin `x:1`",
  ]);
  nowMs = 10_005;
  reporter.tellIfDue();
  reporter.tellIfDue();
  expect(lines[1]).toMatch(/^message 2 of generation 3 is passed over, and 998 after it: .*`x:2`$/);
  reporter.add([message(1001), message(1002)]);
  nowMs += 10_000;
  reporter.tellIfDue();
  expect(lines[2]).toContain("message 1001 of generation 3 is passed over, and 1 after it");
  expect(lines).toHaveLength(3);
  expect(counted.reduce((sum, count) => sum + count)).toBe(1002);
});
