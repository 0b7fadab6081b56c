// Reason why a server of the log refuses a TLS connection. With TLS 1.3 a server judges the client's certificate after
// the client's part of the handshake: NATS's client then only times out, without the server's alert.
import { readFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { NatsServerSettings } from "./nats-connection.ts";

/** Longest time in ms for one server. */
const PROBE_TIMEOUT_MS = 2000;
/** A server that accepts the handshake sends nothing: without an alert for so long, in ms, it has accepted. */
const ALERT_WAIT_MS = 500;

/**
 * Error of the TLS handshake with one of the servers; undefined where one of them accepts it, or none of them answers.
 * Takes up to two seconds.
 */
export async function findTlsRefusal(settings: NatsServerSettings): Promise<Error | undefined> {
  const results = await Promise.all(
    settings.servers.map((server) => probeServer(server, settings.tls).catch(() => "silent")),
  );
  if (results.includes("accepts")) return undefined;
  return results.find((result) => result instanceof Error);
}

type ProbeResult = "accepts" | "silent" | Error;

async function probeServer(server: string, tls: NatsServerSettings["tls"]): Promise<ProbeResult> {
  const at = server.lastIndexOf(":");
  const host = server.slice(0, at);
  const socket = connectTcp(Number(server.slice(at + 1)), host.replaceAll(/[[\]]/g, ""));
  socket.setTimeout(PROBE_TIMEOUT_MS, () => socket.destroy());
  try {
    if (!(await isTlsRequired(socket))) return "accepts";
    return await probeHandshake(socket, host, tls);
  } finally {
    socket.destroy();
  }
}

/** Reads the line with which a server begins, before TLS. */
function isTlsRequired(socket: Socket): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let line = "";
    socket.on("data", (bytes: Buffer) => {
      line += bytes.toString("latin1");
      if (!line.includes("\r\n")) return;
      socket.removeAllListeners("data");
      resolve(/"tls_(?:required|available)":true/.test(line));
    });
    socket.once("error", reject).once("close", () => reject(new Error("closed")));
  });
}

function probeHandshake(
  socket: Socket,
  servername: string,
  { caFile, certFile, keyFile }: NonNullable<NatsServerSettings["tls"]> = {},
): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const secure = connectTls({
      socket,
      servername,
      ...(caFile !== undefined && { ca: readFileSync(caFile) }),
      ...(certFile !== undefined && { cert: readFileSync(certFile) }),
      ...(keyFile !== undefined && { key: readFileSync(keyFile) }),
    });
    secure.once("secureConnect", () => setTimeout(() => resolve("accepts"), ALERT_WAIT_MS));
    secure.once("error", resolve).once("close", () => resolve("silent"));
  });
}
