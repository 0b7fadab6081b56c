// bench:tail and its open loop: a stall of the server is seen by every request that was due in it, and
// the bench's report has what its table and its plots are made of.
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { numberOf, numbersOf, wordsOf } from "../../bench/load/flags.ts";
import { byThread } from "../../bench/load/gc-pauses.ts";
import { headOf, OpenLoop } from "../../bench/load/open-loop.ts";
import { merged, msAt } from "../../bench/load/open-loop-client.ts";
import { placementOf } from "../../bench/load/placement.ts";
import { lastLine } from "./_last-line.ts";

const servers: http.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serve(answer: http.RequestListener): Promise<string> {
  const server = http.createServer(answer).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function loopTo(url: string, perSecond: number, seconds: number, connections: number): OpenLoop {
  const bodies = ['{"n":"#n#"}'];
  const plan = { url, route: "/", key: "k", bodies, perSecond, seconds, connections };
  return new OpenLoop({ ...plan, isSpinning: false });
}

test("a stall is seen by every request that was due in it, not by the one that met it", async () => {
  const STALL_MS = 400;
  let served = 0;
  const url = await serve((_request, response) => {
    const isStalled = ++served === 50;
    setTimeout(() => response.end("ok"), isStalled ? STALL_MS : 0);
  });
  // One connection: all that is due in the stall waits for it, and only one request is in it.
  const offered = await loopTo(url, 200, 1.5, 1).run();
  expect(offered).toMatchObject({ offered: 300, errors: {}, turnedAway: 0 });
  const [corrected, service] = [offered.corrected, offered.service].map((text) => merged([text]));
  expect(msAt(service!, 100)).toBeGreaterThan(STALL_MS * 0.9);
  // 80 of 300 were due within 400 ms, and waited 200 ms on average.
  expect(corrected!.mean - service!.mean).toBeGreaterThan(30_000);
});

test("what the service turns away, breaks off or does not answer is counted apart", async () => {
  const numbers: number[] = [];
  const url = await serve((request, response) => {
    request.setEncoding("utf8").once("data", (body: string) => {
      const number = Number((JSON.parse(body) as { n: string }).n);
      numbers.push(number);
      if (number % 4 === 1) response.statusCode = 503;
      if (number % 4 === 2) response.statusCode = 500;
      if (number === 7) request.socket.destroy();
      else response.end();
    });
  });
  const offered = await loopTo(url, 40, 0.5, 4).run();
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at));
  expect(offered).toMatchObject({ answered: 9, turnedAway: 5, errors: { 500: 5, closed: 1 } });
  expect(merged([offered.corrected]).totalCount).toBe(9);
});

test("what was due and never sent counts with the time that it had waited", async () => {
  const url = await serve((_request, response) => void setTimeout(() => response.end(), 200));
  const offered = await loopTo(url, 100, 0.5, 1).run();
  expect(offered.unsent).toBeGreaterThan(40);
  expect(offered.answered + offered.unsent).toBe(50);
  expect(merged([offered.corrected]).totalCount).toBe(50);
  expect(msAt(merged([offered.corrected]), 50)).toBeGreaterThan(100);
});

test("a stop ends the offer at once", async () => {
  const url = await serve((_request, response) => response.end());
  const loop = loopTo(url, 100, 3600, 2);
  setTimeout(() => loop.stop(), 300);
  const { seconds, answered, offered, unsent } = await loop.run();
  expect(seconds).toBeLessThan(60);
  expect([answered, unsent]).toEqual([offered, 0]);
});

test("a reply is whole when its head and as many bytes as it says have come", () => {
  const reply = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
  expect(headOf(Buffer.from(reply.slice(0, -1)))).toBeUndefined();
  expect(headOf(Buffer.from(reply))).toEqual({ status: "200", length: reply.length + 5 });
});

test("pauses are counted by thread and kind, within their step", () => {
  const at = (thread: string, kind: string, ms: number, when: number) => ({
    thread,
    kind,
    at: when,
    ms,
  });
  const pauses = [
    at("main", "minor", 1.5, 10),
    at("main", "minor", 0.5, 20),
    at("ledger 1", "major", 7, 15),
    at("main", "minor", 9, 30),
  ];
  expect(byThread(pauses, 10, 30)).toEqual({
    "main minor": { count: 2, total_ms: 2, longest_ms: 1.5 },
    "ledger 1 major": { count: 1, total_ms: 7, longest_ms: 7 },
  });
});

test("flags say what they take", () => {
  expect(numbersOf("rates", "20,3,20")).toEqual([3, 20]);
  expect(() => numbersOf("rates", "20,")).toThrow("--rates takes a number of at least 0, not ``");
  expect(() => numberOf("rounds", "0", 1)).toThrow("of at least 1, not `0`");
  expect(wordsOf("company", "", ["a", "b"])).toEqual([]);
  expect(() => wordsOf("company", "c", ["a", "b"])).toThrow("takes of a, b, not `c`");
});

test("the generator has a core of its own where there are enough", () => {
  expect(placementOf("auto", 2).words).toBe("not pinned");
  expect(placementOf("auto", 8)).toMatchObject({
    generator: "7",
    runner: ["taskset", "-c", "0-6"],
  });
  expect(placementOf("3:0-2", 2).generator).toBe("3");
  for (const wrong of ["3", "a:b", "1:2:3", "0-1"]) {
    expect(() => placementOf(wrong, 8), wrong).toThrow("--pin takes");
  }
});

test("bench:tail: rates, the bar, and what each company costs", async () => {
  const report = await lastLine("bench/tail.ts", "--smoke", "--company", "outcomes,query");
  expect(report).toMatchObject({ bench: "tail", bar: { per_second: 400, bar_ms: 20 } });
  const rows = report["rates"] as { answered: number; errors: object; p99_9_ms: object }[];
  expect(rows).toHaveLength(2);
  for (const { answered, errors } of rows) {
    expect(answered).toBeGreaterThan(50);
    expect(errors).toEqual({});
  }
  expect(Object.keys(report["beside"] as object)).toEqual(["alone", "outcomes", "query", "all"]);
  const company = report["company"] as { outcomes: number; queries: number; errors: number };
  expect(company.errors).toBe(0);
  expect(company.outcomes).toBeGreaterThan(0);
  expect(company.queries).toBeGreaterThan(0);
});
