// Poll of security event tokens from a transmitter over HTTP: what is acknowledged and when, what is told as refused, and
// transmitters that fail or never end.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import * as fs from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SignalRefused } from "../../src/contract/conditions/signals.ts";
import { SignalPoller } from "../../src/service/signal-poller.ts";

interface Asked {
  readonly ack: string[];
  readonly setErrs: Record<string, { err: string }>;
}

let server: Server;
let poller: SignalPoller;
let asked: Asked[];
let authorizations: (string | undefined)[];
let answer: (asked: Asked) => [status: number, body: unknown];
let warnings: object[];
const taken: string[] = [];
const directory = fs.mkdtempSync("/tmp/trustrank-poll-");

beforeEach(async () => {
  asked = [];
  authorizations = [];
  warnings = [];
  taken.length = 0;
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", () => {
      authorizations.push(request.headers.authorization);
      asked.push(JSON.parse(text) as Asked);
      const [status, body] = answer(asked.at(-1)!);
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  fs.writeFileSync(`${directory}/token`, "secret\n");
  poller = new SignalPoller({
    issuer: { issuer: "https://idp.example", tenant: "acme" },
    target: { url: `http://127.0.0.1:${port}/poll`, token_file: `${directory}/token` },
    receiver: {
      receive: (token, { tenant }) => {
        taken.push(`${tenant} ${token}`);
        if (token === "bad") return Promise.reject(new SignalRefused("invalid_key", "no key"));
        if (token === "later") return Promise.reject(new Error("the journal is full"));
        return Promise.resolve();
      },
    },
    isLeader: () => true,
    log: { warn: (_, detail) => void warnings.push(detail ?? {}) },
  });
});

afterEach(async () => {
  poller.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it("acknowledges what was received and tells what was refused, with the next request", async () => {
  const sets: Record<string, string> = { a: "good", b: "bad" };
  answer = ({ ack, setErrs }) => {
    for (const id of [...ack, ...Object.keys(setErrs)]) delete sets[id];
    return [200, { sets: { ...sets } }];
  };
  await poller.poll();
  expect(taken).toEqual(["acme good", "acme bad"]);
  expect(asked.map(({ ack }) => ack)).toEqual([[], ["a"]]);
  expect(asked[1]!.setErrs).toEqual({ b: { err: "invalid_key", description: "no key" } });
  expect(authorizations).toEqual(["Bearer secret", "Bearer secret"]);
  await poller.poll();
  expect(asked).toHaveLength(3);
});

it("does not acknowledge what could not be put in force", async () => {
  answer = () => [200, { sets: { a: "good", b: "later" } }];
  await poller.poll();
  await poller.poll();
  expect(asked.map(({ ack }) => ack)).toEqual([[], ["a"]]);
  expect(warnings).toEqual([{ issuer: "https://idp.example", detail: "the journal is full" }]);
});

it("says once that a transmitter fails, keeps what is to be told, and stops at one that never ends", async () => {
  answer = () => [200, { sets: { a: "good" }, moreAvailable: true }];
  await poller.poll();
  const count = asked.length;
  expect(count).toBeLessThan(50);
  answer = () => [500, {}];
  await poller.poll();
  await poller.poll();
  expect(warnings).toHaveLength(1);
  answer = () => [200, { sets: {} }];
  await poller.poll();
  expect(asked.at(-1)!.ack).toEqual(["a"]);
});
