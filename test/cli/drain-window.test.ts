// The drain window by a fake clock: which signals begin and end it, and how long it lasts.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DrainWindow, type EndSignal } from "../../src/cli/drain-window.ts";
import { DRAIN_MS } from "../../src/contract/setting-defaults.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open(drainMs: number, isAtTerminal = false) {
  const events: [string, ...unknown[]][] = [];
  const drainWindow = new DrainWindow({
    drainMs,
    isAtTerminal,
    onBegin: (signal, windowMs) => events.push(["begin", signal, windowMs]),
    onEnd: () => events.push(["end", Date.now()]),
  });
  return { drainWindow, events, startedAt: Date.now() };
}

it("lasts as long as the setting says, and ends once", () => {
  const { drainWindow, events, startedAt } = open(DRAIN_MS);
  drainWindow.signal("SIGTERM");
  vi.advanceTimersByTime(DRAIN_MS - 1);
  expect(events).toEqual([["begin", "SIGTERM", 5000]]);
  vi.advanceTimersByTime(1);
  expect(events).toEqual([
    ["begin", "SIGTERM", 5000],
    ["end", startedAt + 5000],
  ]);
  drainWindow.signal("SIGTERM");
  vi.advanceTimersByTime(60_000);
  expect(events).toHaveLength(2);
});

const pairs: [EndSignal, EndSignal][] = [
  ["SIGTERM", "SIGTERM"],
  ["SIGTERM", "SIGINT"],
  ["SIGINT", "SIGTERM"],
];
it.each(pairs)("is ended at once by a second signal: %s, %s", (first, second) => {
  const { drainWindow, events, startedAt } = open(DRAIN_MS);
  drainWindow.signal(first);
  vi.advanceTimersByTime(100);
  drainWindow.signal(second);
  expect(events.at(-1)).toEqual(["end", startedAt + 100]);
  vi.advanceTimersByTime(60_000);
  expect(events).toHaveLength(2);
});

it.each([
  ["Ctrl-C at a terminal", "SIGINT", true, DRAIN_MS, 0],
  ["SIGINT without a terminal", "SIGINT", false, DRAIN_MS, DRAIN_MS],
  ["SIGTERM of a process at a terminal", "SIGTERM", true, DRAIN_MS, DRAIN_MS],
  ["no window", "SIGTERM", false, 0, 0],
] as const)("%s", (_, signal, isAtTerminal, drainMs, windowMs) => {
  const { drainWindow, events } = open(drainMs, isAtTerminal);
  drainWindow.signal(signal);
  expect(events[0]).toEqual(["begin", signal, windowMs]);
  expect(events).toHaveLength(windowMs === 0 ? 2 : 1);
});

it("neither begins nor ends after it was canceled", () => {
  const { drainWindow, events } = open(DRAIN_MS);
  drainWindow.signal("SIGTERM");
  drainWindow.cancel();
  drainWindow.signal("SIGTERM");
  vi.advanceTimersByTime(60_000);
  expect(events).toEqual([["begin", "SIGTERM", 5000]]);
});
