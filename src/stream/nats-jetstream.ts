// Streams of the log's servers: the client for them, and readings from a place on. The only file that imports that client.
import {
  type ConsumerMessages,
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
} from "@nats-io/jetstream";
import {
  connectToServers,
  type LogConnection,
  type NatsServerSettings,
} from "./nats-connection.ts";

export type { JetStreamClient, JetStreamManager };

/** Longest wait in ms for an answer of a server. */
export const REQUEST_MS = 2000;
const CONSUME_BYTES = 8 * 1024 * 1024;
const HEARTBEAT_MS = 1000;

export function openJetStream(connection: LogConnection): JetStreamClient {
  return jetstream(connection, { timeout: REQUEST_MS });
}

/** @throws the server's error. */
export function openJetStreamManager(connection: LogConnection): Promise<JetStreamManager> {
  return jetstreamManager(connection, { timeout: REQUEST_MS });
}

/** A consumer on a connection of its own, which begins at place `from`. @throws ClusterRefused, the server's error. */
export async function openMessageSource(
  settings: NatsServerSettings,
  stream: string,
  from: number,
) {
  const connection = await connectToServers(settings);
  try {
    const manager = await openJetStreamManager(connection);
    const start = { opt_start_seq: from, deliver_policy: "by_start_sequence" } as const;
    const consumer = await openJetStream(connection).consumers.get(stream, start);
    const limits = { max_bytes: CONSUME_BYTES, idle_heartbeat: HEARTBEAT_MS };
    const messages = await consumer.consume(limits);
    void stopWhenRecreated(messages);
    return {
      messages,
      lastSeq: async () => (await manager.streams.info(stream)).state.last_seq,
      close: async () => {
        messages.stop();
        await connection.close();
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * A consumer that the client makes anew goes on behind the last message, perhaps on the copy of a server that has lost one:
 * only a new reading, which begins with the newest message known, would notice.
 */
async function stopWhenRecreated(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) {
    if (type === "ordered_consumer_recreated") messages.stop();
  }
}
