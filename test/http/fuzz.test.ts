// A thousand damaged requests per adapter: bytes flipped, inserted, deleted, values replaced. The
// answer is 2xx or 4xx, or a hang-up, never a 5xx, and the server serves on.
import fc from "fast-check";
import { expect, it } from "vitest";
import { call } from "./_client.ts";
import { describeServers } from "./_servers.ts";
import {
  CHECK_BODY,
  HANDSHAKE_BODY,
  OUTCOME_BODY,
  sendRaw,
  statusesOf,
  VERIFY_BODY,
} from "./_setup.ts";

const ROUTES: readonly [string, object][] = [
  ["/v1/trust/verify", VERIFY_BODY],
  ["/v1/trust/verify/batch", { items: [VERIFY_BODY, VERIFY_BODY] }],
  ["/v1/check", CHECK_BODY],
  ["/v1/handshake", HANDSHAKE_BODY],
  ["/v1/outcomes", OUTCOME_BODY],
];

const route = fc.constantFrom(...ROUTES);
const damage = fc.array(
  fc.record({
    kind: fc.constantFrom("flip", "insert", "delete", "copy"),
    at: fc.nat(),
    byte: fc.integer({ min: 0, max: 255 }),
  }),
  { minLength: 1, maxLength: 6 },
);

function damaged(bytes: Buffer, steps: readonly { kind: string; at: number; byte: number }[]) {
  let result = Buffer.from(bytes);
  for (const { kind, at: position, byte } of steps) {
    const at = position % (result.length + 1);
    const head = result.subarray(0, at);
    const tail = result.subarray(at);
    if (kind === "insert") result = Buffer.concat([head, Buffer.from([byte]), tail]);
    else if (kind === "delete") result = Buffer.concat([head, tail.subarray(1)]);
    else if (kind === "copy") result = Buffer.concat([head, tail.subarray(0, 20), tail]);
    else result = Buffer.concat([head, Buffer.from([byte]), tail.subarray(1)]);
  }
  return new Uint8Array(result);
}

describeServers("damaged requests", (service) => {
  const stillServes = async () => {
    const answer = await call(service, "/v1/check", { body: CHECK_BODY });
    expect(answer.status).toBe(200);
    await expect.poll(() => service.server.inflight).toBe(0);
    expect(service.logged).toEqual([]);
  };

  it.each(["application/json", "application/msgpack"])("bytes of the body, as %s", async (type) => {
    const { encodeMsgpack } = await import("../../src/http/codec/msgpack.ts");
    const encode = (body: object) =>
      type === "application/json" ? Buffer.from(JSON.stringify(body)) : encodeMsgpack(body);
    await fc.assert(
      fc.asyncProperty(route, damage, async ([path, body], steps) => {
        const bytes = damaged(Buffer.from(encode(body)), steps);
        const headers = { "content-type": type };
        const { status } = await call(service, path, { bytes, headers, method: "POST" });
        expect(status < 300 || (status >= 400 && status < 500)).toBe(true);
      }),
      { numRuns: 600 },
    );
    await stillServes();
  });

  it("values of the members", async () => {
    await fc.assert(
      fc.asyncProperty(route, fc.nat(), fc.jsonValue(), async ([path, body], at, value) => {
        const names = Object.keys(body);
        const name = names[at % names.length] as string;
        const answer = await call(service, path, { body: { ...body, [name]: value } });
        expect(answer.status < 300 || (answer.status >= 400 && answer.status < 500)).toBe(true);
      }),
      { numRuns: 300 },
    );
    await stillServes();
  });

  it("bytes of the whole request on the wire", async () => {
    await fc.assert(
      fc.asyncProperty(route, damage, async ([path, body], steps) => {
        const text = JSON.stringify(body);
        const request = [
          `POST ${path} HTTP/1.1`,
          "Host: localhost",
          `Authorization: Bearer ${service.key}`,
          "Content-Type: application/json",
          `Content-Length: ${Buffer.byteLength(text)}`,
          "",
          text,
        ].join("\r\n");
        const bytes = Buffer.from(damaged(Buffer.from(request), steps));
        const { text: answer } = await sendRaw(service.server.port, [bytes], {
          isBrief: true,
          until: /\r\n\r\n.*\}$/s,
        });
        for (const status of statusesOf(answer)) {
          expect(status === 505 || status < 300 || (status >= 400 && status < 500)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
    await stillServes();
  });
});
