// Text that a start prints for people: the address, where the admin key and the console are, a key for an application
// and a first request.

/** Verdict worth reading: this agent of the sample history turned bad ten days ago. */
export const SAMPLE_AGENT = "agent://globex/price-scout";
const TEST_AGENT = "agent://test/refuse";
/** Any agent without a record. */
const NEW_AGENT = "agent://example/first-agent";

/** What the text says. */
export interface StartFacts {
  readonly version: string;
  /** Beginning of requests: `http://host:port`. */
  readonly base: string;
  /** Path of the Unix socket that takes them, where no port does. */
  readonly socket: string | undefined;
  readonly adapter: string;
  readonly httpThreads: number;
  readonly grpcAddress: string | undefined;
  readonly dataDir: string;
  readonly sampleCount: number;
  readonly replayedCount: number;
  readonly agentCount: number;
  /** The key that this start made. */
  readonly newAdminKey: string | undefined;
  /** The key that an earlier start or command made; its text is not stored. */
  readonly storedAdminKey: { readonly key_id: string; readonly created_at: string } | undefined;
  /** Variable or file that the operator's own key was read from. */
  readonly adminKeyOrigin: string | undefined;
  /** Logs in once. */
  readonly consoleLink: string | undefined;
  /** Login page, where the start prints no link. */
  readonly consoleUrl: string | undefined;
  /** Command that reaches this package's command line, such as `trustrank`. */
  readonly command: string;
  /** Flags with which a command finds the data directory; empty where it is the default. */
  readonly dataDirFlags: string;
  readonly hasSampleAgent: boolean;
  readonly areTestAgentsEnabled: boolean;
}

/** Lines of the text. Holds the admin key only where this start made it. */
export function describeStart(facts: StartFacts): string[] {
  const { version, base, socket, adapter, httpThreads, grpcAddress, dataDir } = facts;
  const { sampleCount, agentCount, replayedCount } = facts;
  const threads = httpThreads > 1 ? `, ${httpThreads} threads` : "";
  const address = socket === undefined ? base : `unix:${socket}`;
  return [
    `TrustRank ${version} listens on ${address} (${adapter}${threads}), data in ${dataDir}`,
    ...(grpcAddress === undefined ? [] : [`Envoy's ext_authz over gRPC on ${grpcAddress}`]),
    sampleCount > 0
      ? `loaded the sample history: ${sampleCount} outcomes of ${agentCount} agents`
      : `${agentCount} agents from ${replayedCount} outcomes`,
    ...describeAdminKey(facts),
    ...describeConsole(facts),
    ...describeFirstRequest(facts),
  ];
}

function describeAdminKey(facts: StartFacts): string[] {
  const { newAdminKey, adminKeyOrigin, storedAdminKey, command, dataDirFlags } = facts;
  if (newAdminKey !== undefined) {
    return [`admin key, shown this once: ${newAdminKey}`, "  keep it: only a hash is stored"];
  }
  const create = `  ${command} keys create`;
  const application = [
    "a key for an application (with TRUSTRANK_KEY set to the admin key):",
    `${create} --tenant acme --scopes score:read,outcomes:write${dataDirFlags}`,
  ];
  if (adminKeyOrigin !== undefined) {
    return [`admin key: the one in ${adminKeyOrigin}`, ...application];
  }
  const made =
    storedAdminKey === undefined
      ? ""
      : ` on ${storedAdminKey.created_at.slice(0, 10)} (id ${storedAdminKey.key_id})`;
  const inConsole =
    facts.consoleLink === undefined ? "" : "make another in the console under Keys, or ";
  return [
    `admin key: shown once, when it was made${made}; only a hash is stored`,
    ...application,
    `if the admin key is lost: ${inConsole}stop the service, run this and start it again`,
    `${create} --scopes admin --first-party${dataDirFlags}`,
  ];
}

function describeConsole({ consoleLink, consoleUrl }: StartFacts): string[] {
  if (consoleLink !== undefined) return [`console, opens once within 5 minutes: ${consoleLink}`];
  return consoleUrl === undefined ? [] : [`console: ${consoleUrl} (log in with the admin key)`];
}

function describeFirstRequest(facts: StartFacts): string[] {
  const { base, socket, newAdminKey, hasSampleAgent, areTestAgentsEnabled } = facts;
  const by = socket === undefined ? "" : ` --unix-socket ${socket}`;
  const [agent, expected] = hasSampleAgent
    ? [SAMPLE_AGENT, "an agent that has begun to fail"]
    : areTestAgentsEnabled
      ? [TEST_AGENT, "a test agent that is always refused"]
      : [NEW_AGENT, "an agent without a record, which is challenged"];
  const key = newAdminKey === undefined ? ", with KEY set to the admin key" : "";
  const header =
    newAdminKey === undefined
      ? '"Authorization: Bearer $KEY"'
      : `'Authorization: Bearer ${newAdminKey}'`;
  const body = {
    agent_id: agent,
    action: "order.place",
    tool_level: "L2",
    stakes: 250,
    context: {},
  };
  return [
    `try it (${expected}${key}):`,
    `  curl -s${by} ${base}/v1/trust/verify \\`,
    `    -H ${header} \\`,
    `    -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`,
  ];
}
