// Begin and end of the gRPC server: a port that is taken, nobody there, what is under way at the end.
import net from "node:net";
import { describe, expect, it } from "vitest";
import { GRPC_CONNECTIONS_MAX } from "../../../src/http/grpc/bounds.ts";
import { CALLER_BY_PRINCIPAL } from "../../../src/http/grpc/caller.ts";
import { type ExtAuthzServer, listenExtAuthz } from "../../../src/http/grpc/server.ts";
import type { Reply } from "../../../src/http/server/port.ts";
import { connect } from "./_envoy.ts";

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const PLACE = {
  host: "127.0.0.1",
  systemClock: Date.now,
  logger: QUIET,
  source: CALLER_BY_PRINCIPAL,
};
const REPLY: Reply = { status: 200, headers: ["X-Trust-Effective", "allow"], body: "" };

const open = (port = 0): Promise<ExtAuthzServer> =>
  listenExtAuthz({ ...PLACE, port, ask: () => REPLY });

describe("the begin", () => {
  it("is refused a port that is taken", async () => {
    const server = await open();
    await expect(open(server.port)).rejects.toMatchObject({ code: "EADDRINUSE" });
    await server.close(0);
  });
});

describe("the bound of connections", () => {
  it("closes one more at once, and the others answer", async () => {
    const server = await open();
    const sockets = await Promise.all(
      Array.from({ length: GRPC_CONNECTIONS_MAX - 1 }, () => connected(server.port)),
    );
    const client = connect(server.port);
    expect((await client.check({})).callCode).toBe(0);
    const more = await connected(server.port);
    await new Promise((resolve) => more.once("close", resolve));
    expect(sockets.filter((socket) => socket.closed)).toEqual([]);
    expect((await client.check({})).callCode).toBe(0);
    client.close();
    await server.close(0);
  });

  function connected(port: number): Promise<net.Socket> {
    return new Promise((resolve) => {
      const socket = net.connect(port, "127.0.0.1", () => resolve(socket.resume()));
      socket.on("error", () => undefined);
    });
  }
});

describe("the end", () => {
  it("leaves nobody listening", async () => {
    const server = await open();
    await server.close(0);
    const client = connect(server.port);
    expect((await client.check({})).callCode).toBe(14);
    client.close();
  });

  /** A server whose one call is under way until `answer` is called. */
  async function withCall() {
    let answer = () => undefined as void;
    let onAsked = () => undefined as void;
    const asked = new Promise<void>((resolve) => (onAsked = resolve));
    const held = new Promise<Reply>((resolve) => (answer = () => resolve(REPLY)));
    const server = await listenExtAuthz({
      ...PLACE,
      port: 0,
      ask: () => {
        onAsked();
        return held;
      },
    });
    const client = connect(server.port);
    const pending = client.check({});
    await asked;
    return { server, client, pending, answer };
  }

  it("answers what is under way and takes nothing new", async () => {
    const { server, client, pending, answer } = await withCall();
    const closed = server.close(60_000);
    const late = connect(server.port);
    expect((await late.check({})).callCode).toBe(14);
    answer();
    expect((await pending).code).toBe(0);
    expect((await pending).headers).toEqual({ "x-trust-effective": "allow" });
    await closed;
    client.close();
    late.close();
  });

  it("cuts what takes longer than the grace", async () => {
    const { server, client, pending } = await withCall();
    await server.close(0);
    expect((await pending).callCode).not.toBe(0);
    client.close();
  });
});
