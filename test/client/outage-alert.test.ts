// Alerts of an outage: the lines at error level of a gateway that was given no callback, on a clock of
// its own, and the posts to a real server.
import http from "node:http";
import { type AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AlertPoster, type AlertTarget } from "../../src/client/alert-poster.ts";
import { TrustRankError } from "../../src/client/errors.ts";
import { type OutageAlert, OutageAlerter } from "../../src/client/outage-alert.ts";
import { open, MINUTE_MS, settle } from "./_gateway.ts";
import { verifyReply } from "./_replies.ts";

const START_MS = Date.UTC(2026, 0, 31, 12);
const ERROR = new TrustRankError("timeout", "no answer within 100 ms");

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("lines at error level", () => {
  /** An alerter on a clock that only `at` moves, in seconds. */
  function openAlerter() {
    let nowMs = 0;
    const alerter = new OutageAlerter({ wallClock: () => START_MS + nowMs });
    const at = (second: number) => {
      nowMs = second * 1000;
      return {
        block: (times = 1) => {
          for (let index = 0; index < times; index += 1)
            alerter.recordBlocked(ERROR, "agent://a/b", "L3", nowMs);
        },
        answer: () => alerter.recordVerdict(),
      };
    };
    return at;
  }
  const line = (count: string, since: string) =>
    `trustrank: no verdict (timeout); ${count} blocked since ${since}; newest: "agent://a/b" at L3`;

  it("say count and since when, once a minute while it lasts, and its end", () => {
    const at = openAlerter();
    at(0).answer();
    at(1).block();
    at(2).block(4);
    at(60.9).block();
    expect(lines).toEqual([line("1 request", "2026-01-31T12:00:01.000Z")]);
    at(61).block();
    at(100).block(3);
    at(121).block();
    expect(lines.slice(1)).toEqual([
      line("7 requests", "2026-01-31T12:00:01.000Z"),
      line("11 requests", "2026-01-31T12:00:01.000Z"),
    ]);
    at(130).answer();
    at(131).answer();
    expect(lines.slice(3)).toEqual([
      "trustrank: verdicts are available again; 11 requests blocked " +
        "from 2026-01-31T12:00:01.000Z to 2026-01-31T12:02:10.000Z",
    ]);
  });

  it("are at most two a minute of a service that flaps, and none of its blocked requests is left out", () => {
    const at = openAlerter();
    for (let second = 0; second < 180; second += 1) {
      at(second).block();
      at(second).answer();
    }
    const count = (text: string) => Number(/(\d+) requests? blocked/.exec(text)?.[1]);
    const [alerts, ends] = [0, 1].map((from) => lines.filter((_, index) => index % 2 === from));
    expect(alerts!.map(count)).toEqual([1, 60, 60]);
    expect(ends!.map(count)).toEqual([1, 60, 60]);
  });

  it("are written by a gateway, also of an agent's name that holds a line break", async () => {
    vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "performance", "Date"],
      now: START_MS,
    });
    let isUp = false;
    const fetch = async () => {
      if (!isUp) throw new TypeError("fetch failed");
      return Response.json(verifyReply());
    };
    const { ask } = open(fetch, { onAlert: undefined } as never);
    expect((await settle(ask("L0", 0, "agent://a/b"))).status).toBe(200);
    expect(lines, "nothing is blocked at L0").toEqual([]);
    await settle(ask("L2", 0, `agent://a/b\nforged line${"!".repeat(100_000)}`));
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    isUp = true;
    await settle(ask("L2", 0, "agent://a/c"));
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(
      /1 request blocked since 2026-01-31T12:00:0\S+Z; .*"agent:\/\/a\/b\\nforged line!{1,500}"/,
    );
    expect(lines[1]).toMatch(/^trustrank: verdicts are available again; 1 request blocked from /);
  });
});

describe("posts", () => {
  const ALERT: OutageAlert = {
    kind: "service_unreachable",
    error: ERROR,
    agentId: "agent://a/b",
    toolLevel: "L2",
    blockedCount: 3,
    sinceMs: START_MS,
    since: new Date(START_MS).toISOString(),
  };
  interface Received {
    readonly url: string | undefined;
    readonly headers: http.IncomingHttpHeaders;
    readonly body: string;
  }
  const received: Received[] = [];
  let server: http.Server;
  let base: string;
  /** Sent to the next posts: a status, or a place to go instead. */
  let status = 204;
  beforeEach(async () => {
    received.length = 0;
    status = 204;
    server = http.createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        received.push({ url: request.url, headers: request.headers, body });
        const isMoved = status === 307 && request.url !== "/elsewhere";
        response.writeHead(status, isMoved ? { location: `${base}/elsewhere` } : {}).end("later");
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const at = (path = "/hook/secret-of-the-team", more: Partial<AlertTarget> = {}) =>
    new AlertPoster({ url: base + path, ...more });

  it("are JSON with a line for people, and the headers that were given", async () => {
    at("/hook", { headers: { Authorization: "Bearer of the team" } }).post(ALERT, "one line");
    await expect.poll(() => received.length).toBe(1);
    expect(received[0]).toMatchObject({
      url: "/hook",
      headers: { authorization: "Bearer of the team", "content-type": "application/json" },
    });
    expect(JSON.parse(received[0]!.body)).toEqual({
      kind: "service_unreachable",
      text: "one line",
      since: "2026-01-31T12:00:00.000Z",
      blocked_count: 3,
      error: "timeout",
      agent_id: "agent://a/b",
      tool_level: "L2",
    });
    expect(lines).toEqual([]);
  });

  it("log a failure once until one succeeds, and only the address's origin", async () => {
    const poster = at();
    status = 500;
    poster.post(ALERT, "");
    await expect.poll(() => lines.length).toBe(1);
    expect(lines[0]).toBe(`trustrank: the alert was not accepted by ${base}: status 500`);
    poster.post(ALERT, "");
    await expect.poll(() => received.length).toBe(2);
    status = 204;
    poster.post(ALERT, "");
    await expect.poll(() => received.length).toBe(3);
    // One after the other: the next failure is told again only once that success has come back.
    await expect
      .poll(() => {
        status = 500;
        poster.post(ALERT, "");
        return lines.length;
      })
      .toBeGreaterThan(1);
    expect(lines.join()).not.toContain("secret");
  });

  it("follow no redirect: the headers are for one host", async () => {
    status = 307;
    at("/hook", { headers: { Authorization: "Bearer of the team" } }).post(ALERT, "");
    await expect.poll(() => lines.length).toBe(1);
    expect(received.map(({ url }) => url)).toEqual(["/hook"]);
  });

  it("end after two seconds, and no answer waits for them", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    const ends: unknown[] = [];
    const never = (_url: string, init: RequestInit) =>
      new Promise<Response>((_resolve, reject) => {
        init.signal!.addEventListener("abort", () => {
          ends.push(performance.now());
          reject(init.signal!.reason as Error);
        });
      });
    const down = async () => {
      throw new TypeError("fetch failed");
    };
    const alert = { url: `${base}/hook`, fetch: never };
    const { ask, alerts } = open(down, { alert });
    const startMs = performance.now();
    expect((await ask("L3")).status).toBe(503);
    expect([performance.now() - startMs, alerts.length]).toEqual([0, 1]);
    await vi.advanceTimersByTimeAsync(1999);
    expect(ends).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ends).toEqual([startMs + 2000]);
    expect(lines).toEqual([
      `trustrank: the alert was not accepted by ${base}: no answer within 2000 ms`,
    ]);
  });

  it("come from a gateway at most once a minute", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    const bodies: { blocked_count: number }[] = [];
    const collect = async (_url: string, init: RequestInit) => {
      bodies.push(JSON.parse(init.body as string) as { blocked_count: number });
      return new Response();
    };
    const down = async () => {
      throw new TypeError("fetch failed");
    };
    const { ask } = open(down, { alert: { url: `${base}/hook`, fetch: collect } });
    for (let second = 0; second < 130; second += 1) {
      await ask("L3");
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(bodies.map((body) => body.blocked_count)).toEqual([1, 61, 121]);
  });

  it.each(["", "hook", "ftp://ops.example/hook", "https://user:secret@ops.example/hook"])(
    "go to an http address without a user, not to %j",
    (url) => {
      expect(() => new AlertPoster({ url })).toThrow(TypeError);
      expect(() => open(fetch, { alert: { url } })).toThrow(/`alert.url` must be an/);
    },
  );
});
