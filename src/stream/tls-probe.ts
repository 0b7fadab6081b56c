// Reason why a server of the log refuses a TLS connection. With TLS 1.3 a server judges the client's certificate after
// the client's part of the handshake: NATS's client then only times out, without the server's alert.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import type { NatsServerSettings } from "./nats-connection.ts";

/** Longest time in ms for one server's handshake. */
const PROBE_TIMEOUT_MS = 2000;
/** A server that accepts a certificate sends nothing: without an alert for so long, in ms, it has accepted. */
const ALERT_WAIT_MS = 500;

/**
 * Error of the TLS handshake with one of the servers; undefined where one of them accepts it, or none of them answers.
 * Takes up to 2.5 s.
 */
export async function findTlsRefusal(settings: NatsServerSettings): Promise<Error | undefined> {
  const results = await Promise.all(settings.servers.map((server) => probe(server, settings.tls)));
  if (results.includes("accepts")) return undefined;
  const failures = results.filter((result) => result !== "accepts");
  return failures.find(({ code }) => code?.startsWith("ERR_SSL_"));
}

async function probe(
  server: string,
  { caFile, certFile, keyFile }: NonNullable<NatsServerSettings["tls"]> = {},
): Promise<NodeJS.ErrnoException | "accepts"> {
  const at = server.lastIndexOf(":");
  const host = server.slice(0, at).replaceAll(/[[\]]/g, "");
  const socket = connectTcp(Number(server.slice(at + 1)), host).on("error", () => undefined);
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  try {
    // A server begins with a line about itself, before TLS.
    const [info] = (await once(socket, "data", { signal })) as [Buffer];
    if (!info.includes('"tls_required":true')) return "accepts";
    const ca = caFile === undefined ? undefined : readFileSync(caFile);
    const cert = certFile === undefined ? undefined : readFileSync(certFile);
    const key = keyFile === undefined ? undefined : readFileSync(keyFile);
    const secure = connectTls({ socket, servername: host, ca, cert, key });
    secure.on("error", () => undefined);
    await once(secure, "secureConnect", { signal });
    const late = AbortSignal.timeout(ALERT_WAIT_MS);
    await once(secure, "close", { signal: late }).catch((error: unknown) => {
      if (!late.aborted) throw error;
    });
    return "accepts";
  } catch (error) {
    return error as Error;
  } finally {
    socket.destroy();
  }
}
