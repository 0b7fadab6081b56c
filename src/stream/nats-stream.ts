// Settings that a stream must have to serve as the ordered log: one that was made by other hands may forget
// messages, or keep them in one place only.

/** The settings that matter here, under JetStream's names. */
export interface StreamConfig {
  readonly name: string;
  readonly retention?: string;
  readonly storage: string;
  readonly discard: string;
  readonly max_age: number;
  readonly max_msgs: number;
  readonly max_bytes: number;
  readonly num_replicas: number;
}

/** The sentence that says why a stream may not be the log, and mends it; undefined when it may. */
export function faultOfStream(stream: StreamConfig): string | undefined {
  const { name, retention = "limits", storage, discard, max_age: age, max_msgs: count } = stream;
  if (storage !== "file") {
    return `stream \`${name}\` is kept in memory and ends with its servers: remove it, this node makes it anew on files`;
  }
  const forgets = [
    retention !== "limits" && `retention: ${retention}`,
    discard !== "new" && `discard: ${discard}`,
    age > 0 && `max_age: ${age}`,
    count > 0 && `max_msgs: ${count}`,
  ].filter((each) => each !== false);
  if (forgets.length === 0) return undefined;
  return `stream \`${name}\` forgets messages (${forgets.join(", ")}): edit it to \`retention: limits\`, \`discard: new\` and neither age nor count`;
}

/** What an operator should know of a stream that is taken as it is; undefined when there is nothing. */
export function doubtOfStream(stream: StreamConfig, replicas: number): string | undefined {
  const { name, num_replicas: kept } = stream;
  if (kept >= replicas) return undefined;
  return `stream \`${name}\` is kept on ${kept} of ${replicas} servers: raise it with \`nats stream edit ${name} --replicas ${replicas}\``;
}
