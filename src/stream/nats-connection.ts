// Connections to the servers of the log, and what is meant when they are refused. The only file that imports
// the client's transport.
import { readFileSync } from "node:fs";
import {
  connect,
  type ConnectionOptions,
  credsAuthenticator,
  errors,
  headers,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
} from "@nats-io/transport-node";
import { withDeadline } from "../concurrency/deadline.ts";
import { ClusterRefused } from "./ordered-log.ts";
import { findTlsRefusal } from "./tls-probe.ts";

export interface NatsServerSettings {
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  /** File with credentials (`.creds`). */
  readonly credentialsFile?: string | undefined;
  readonly tls?: {
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  };
}

export type LogConnection = NatsConnection;

/** A message that may be replied to. */
export type RepliableMessage = Msg;

/** Pause in ms between two tries of a lost connection to get back. */
const RECONNECT_MS = 100;
/** Interval in ms at which a dead connection shows. */
const PING_MS = 1000;
const PINGS_MISSED_MAX = 2;
const CONNECT_TIMEOUT_MS = 2000;
/** Interval in ms at which a clock that was set back shows. */
const CLOCK_LOOK_INTERVAL_MS = 1000;
/** Named for no time at all: no connection to it is tried. */
const UNUSED_SERVER = "localhost:1";
/** Addresses tried for each server, at most: a name may have more than one. */
const ADDRESSES_MAX = 4;
/** Codes of what TLS may find wrong with a server's certificate, as Node names them. */
const NAME_MISMATCH_CODE = "ERR_TLS_CERT_ALTNAME_INVALID";
const UNTRUSTED_CODES =
  /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_|CERT_)/;
/** Alert of a server that refuses the certificate of this node, or its absence; and a key that is another's. */
const OWN_CERTIFICATE_CODES =
  /^ERR_(?:SSL_.*ALERT_.*(?:CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE)|OSSL_)/;

/** One try. The connection then looks for its servers for ever. @throws ClusterRefused, Error. */
export async function connectToServers(settings: NatsServerSettings): Promise<LogConnection> {
  const { servers, credentialsFile, tls } = settings;
  const options: ConnectionOptions = {
    servers: [...servers],
    name: "trustrank",
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    // Whoever changes the users of a server for a moment must not end a node's connection for good.
    ignoreAuthErrorAbort: true,
    // Addresses that servers tell of are not the names in their certificates, and would make a first connection try for ever.
    ignoreClusterUpdates: true,
    pingInterval: PING_MS,
    maxPingOut: PINGS_MISSED_MAX,
    timeout: CONNECT_TIMEOUT_MS,
    ...(tls && { tls }),
    // Read for every login: a file that was changed counts from the next one on.
    ...(credentialsFile !== undefined && {
      authenticator: credsAuthenticator(() => readFileSync(credentialsFile)),
    }),
  };
  try {
    for (const file of [credentialsFile, tls?.caFile, tls?.certFile, tls?.keyFile]) {
      if (file !== undefined) readFileSync(file);
    }
    const msMax = servers.length * ADDRESSES_MAX * CONNECT_TIMEOUT_MS;
    const connection = await connectInTime(options, msMax);
    forgetFutureTries(connection, servers);
    return connection;
  } catch (error) {
    const cause = error instanceof errors.TimeoutError ? await findTlsRefusal(settings) : undefined;
    const refusal = describePermanentError(cause ?? (error as Error), settings);
    throw refusal === undefined ? error : new ClusterRefused(refusal, { cause: error });
  }
}

/** The client may wait for a server without end. @throws errors.TimeoutError */
async function connectInTime(options: ConnectionOptions, ms: number): Promise<LogConnection> {
  const connecting = connect(options);
  return withDeadline(connecting, ms, () => {
    void connecting.then((late) => late.close()).catch(() => undefined);
    throw new errors.TimeoutError();
  });
}

/**
 * A lost connection tries a server again some ms after its last try, by the system's clock: set back by an hour, that
 * clock would keep this node away from its cluster for an hour. Until the connection is closed, tries that lie ahead
 * are forgotten.
 */
function forgetFutureTries(connection: LogConnection, servers: readonly string[]): void {
  const look = setInterval(() => {
    const nowMs = Date.now();
    if (connection.getServers().every(({ lastConnect }) => lastConnect <= nowMs)) return;
    // Of a server that is named already the client keeps the last try.
    connection.setServers([UNUSED_SERVER]);
    connection.setServers([...servers]);
  }, CLOCK_LOOK_INTERVAL_MS).unref();
  void connection.closed().then(() => clearInterval(look));
}

/** Headers of a message, by name. */
export function buildMessageHeaders(members: Readonly<Record<string, string>>): MsgHdrs {
  const made = headers();
  for (const [name, value] of Object.entries(members)) made.set(name, value);
  return made;
}

/** What no further try can mend. */
function describePermanentError(
  error: Error,
  { credentialsFile, tls }: NatsServerSettings,
): string | undefined {
  const { message } = error;
  const codes = [error, error.cause].map((each) => (each as { code?: unknown } | undefined)?.code);
  const code = String(codes.find((each) => typeof each === "string"));
  if (code === "ENOENT" || code === "EACCES") {
    return `${message}: name files that this process may read in TRUSTRANK_CLUSTER_CREDS, _CA, _CERT and _KEY`;
  }
  const isUnknownUser = error instanceof errors.AuthorizationError;
  if (isUnknownUser && credentialsFile === undefined && tls?.certFile !== undefined) {
    return `the servers of the log know no user of the certificate \`${tls.certFile}\` (${message}): name that of a node in TRUSTRANK_CLUSTER_CERT, whose DNS name is a user there`;
  }
  if (isUnknownUser || message === "unable to parse credentials") {
    return credentialsFile === undefined
      ? "the servers of the log ask for credentials: name a `.creds` file in TRUSTRANK_CLUSTER_CREDS"
      : `the servers of the log refuse the credentials of \`${credentialsFile}\` (${message}): name those of a user they know in TRUSTRANK_CLUSTER_CREDS`;
  }
  if (code === NAME_MISMATCH_CODE) {
    return `the certificate of a server of the log is for another name (${message}): name the servers by host name in TRUSTRANK_CLUSTER, as their certificates do`;
  }
  if (UNTRUSTED_CODES.test(code)) {
    return `the certificate of a server of the log is not trusted (${message}): name the certificates that have signed it in TRUSTRANK_CLUSTER_CA`;
  }
  if (OWN_CERTIFICATE_CODES.test(code)) {
    return tls?.certFile === undefined
      ? `the servers of the log ask for a certificate of this node (${code}): name it in TRUSTRANK_CLUSTER_CERT and its private key in TRUSTRANK_CLUSTER_KEY`
      : `the certificate \`${tls.certFile}\` of this node is refused (${code}): name one that the servers of the log trust in TRUSTRANK_CLUSTER_CERT and its own private key in TRUSTRANK_CLUSTER_KEY`;
  }
  return undefined;
}
