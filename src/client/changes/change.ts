// A change of the feed as a client reads it, and which cached verdicts it outdates.

/** A change at the service that outdates cached verdicts. */
export interface VerdictChange {
  /** Such as `policy` or `key`; later releases add kinds. */
  readonly kind: string;
  /** The agent whose verdicts are outdated. */
  readonly agent: string | null;
  /** Verdicts of all agents below `agent://<namespace>/`; without agent and namespace those of all agents. */
  readonly namespace: string | null;
}

/** The change in an event's data. @throws SyntaxError for what is no JSON. */
export function parseChange(data: string): VerdictChange {
  const value = JSON.parse(data) as Readonly<Record<string, unknown>> | null;
  const read = (name: string) => {
    const text = value?.[name];
    return typeof text === "string" ? text : null;
  };
  return { kind: read("kind") ?? "", agent: read("agent"), namespace: read("namespace") };
}

/** Whether the change outdates verdicts on an agent. */
export function isAffected({ agent, namespace }: VerdictChange, agentId: string): boolean {
  if (agent !== null) return agent === agentId;
  return namespace === null || agentId.startsWith(`agent://${namespace}/`);
}
