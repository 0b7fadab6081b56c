// A receiver as operators build them: a real HTTP server that verifies every delivery with the library of
// the specification, and answers what the test wants.
import http from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

export interface Received {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly tenant: string | null;
  readonly data: Record<string, unknown>;
  /** False: answered with a failure. */
  readonly isAccepted: boolean;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Secret that it verifies with; set once it is known. */
  secret: string;
  /** Answers by delivery; 204 when left alone. */
  statusOf: (received: Received) => number;
  /** Headers of its answers. */
  headers: Record<string, string>;
  /** Verified by it, or why not. */
  readonly refused: string[];
  accepted(): Received[];
  close(): Promise<void>;
}

/** The library looks at the real time; a test with a clock of its own turns that off. */
export async function openReceiver(isTimeReal = true): Promise<Receiver> {
  const received: Received[] = [];
  const refused: string[] = [];
  const server = http.createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const body = Buffer.concat(pieces).toString();
      const headers = request.headers as Record<string, string>;
      try {
        verify(receiver.secret, body, headers, isTimeReal);
      } catch (error) {
        refused.push(String(error));
        response.writeHead(401).end();
        return;
      }
      const { type, timestamp, tenant, data } = JSON.parse(body) as Received;
      const one = { id: headers["webhook-id"]!, type, timestamp, tenant, data };
      const status = receiver.statusOf({ ...one, isAccepted: false });
      received.push({ ...one, isAccepted: status < 300 });
      response.writeHead(status, receiver.headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    refused,
    secret: "",
    statusOf: () => 204,
    headers: {},
    accepted: () => received.filter(({ isAccepted }) => isAccepted),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return receiver;
}

function verify(
  secret: string,
  body: string,
  headers: Record<string, string>,
  isTimeReal: boolean,
) {
  const webhook = new Webhook(secret);
  if (isTimeReal) {
    webhook.verify(body, headers);
    return;
  }
  // Signed anew by the library for the time that was sent, and compared.
  const atMs = Number(headers["webhook-timestamp"]) * 1000;
  const expected = webhook.sign(headers["webhook-id"]!, new Date(atMs), body);
  if (!headers["webhook-signature"]!.split(" ").includes(expected)) throw new Error("no match");
}
