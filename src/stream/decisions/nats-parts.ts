// Parts of decision segments on NATS JetStream: a stream beside the log, a subject for each node, each part
// compressed. Made by the first node that needs it.
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import { buildMessageHeaders } from "../nats-connection.ts";
import { type LogSource, readWatched } from "../watched-reading.ts";
import { available, unavailable } from "../tries.ts";
import {
  type DecisionParts,
  type NodePart,
  type Part,
  PART_BYTES_MAX,
  type PartPlace,
  type PartsState,
} from "./parts.ts";

const SEGMENT = "Tr-Segment";
const FROM = "Tr-From";
const TO = "Tr-To";
const REQUEST_MS = 2000;
/** So long parts are kept for a node that is away. */
const AGE_NS = 7 * 86_400_000_000_000;
const NOT_FOUND = 10_059;

interface Headers {
  get(name: string): string;
}

interface Delivered {
  readonly seq: number;
  readonly subject: string;
  readonly headers?: Headers | undefined;
  readonly data: Uint8Array;
  readonly info: { readonly pending: number };
}

interface StreamInfo {
  readonly created: string;
  readonly state: { readonly first_seq: number; readonly last_seq: number };
}

/** The part of a JetStream client that is needed. */
export interface PartsClient {
  publish(
    subject: string,
    payload: Uint8Array,
    options: { headers: ReturnType<typeof buildMessageHeaders>; timeout: number },
  ): Promise<unknown>;
}

/** The part of a JetStream manager that is needed. */
export interface PartsManager {
  readonly streams: {
    info(stream: string): Promise<StreamInfo>;
    add(config: Record<string, unknown> & { name: string }): Promise<StreamInfo>;
    getMessage(
      stream: string,
      query: { last_by_subj: string },
    ): Promise<{ readonly header: Headers } | null>;
  };
}

export interface NatsPartsOptions {
  /** Prefix of the names of stream and subjects. */
  readonly name: string;
  readonly replicas: number;
  /** Bound of the stream in bytes. */
  readonly bytesMax: number;
  readonly client: PartsClient;
  readonly manager: PartsManager;
  /** A reading from a place on, on a connection of its own. */
  readonly source: (stream: string, from: number) => Promise<LogSource<Delivered>>;
}

export class NatsParts implements DecisionParts {
  readonly #options: NatsPartsOptions;
  readonly #stream: string;
  readonly #prefix: string;

  constructor(options: NatsPartsOptions) {
    this.#options = options;
    this.#stream = `${options.name}_decisions`;
    this.#prefix = `${options.name}.decisions.`;
  }

  async publish(node: string, { segment, from, bytes }: Part): Promise<void> {
    const to = String(from + bytes.byteLength);
    const headers = buildMessageHeaders({ [SEGMENT]: segment, [FROM]: String(from), [TO]: to });
    const payload = await promisify(deflateRaw)(bytes);
    try {
      const options = { headers, timeout: REQUEST_MS };
      await this.#options.client.publish(this.#prefix + node, payload, options);
    } catch (error) {
      throw unavailable(error);
    }
  }

  async newestOf(node: string): Promise<PartPlace | undefined> {
    await this.state();
    const query = { last_by_subj: this.#prefix + node };
    const newest = await available(
      () => this.#options.manager.streams.getMessage(this.#stream, query),
      0,
    );
    if (newest === null) return undefined;
    return { segment: newest.header.get(SEGMENT), byte: Number(newest.header.get(TO)) };
  }

  async state(): Promise<PartsState> {
    const { created, state } = await available(() => this.#info(), 0);
    return { id: created, firstSeq: state.first_seq, lastSeq: state.last_seq };
  }

  async #info(): Promise<StreamInfo> {
    const { streams } = this.#options.manager;
    try {
      return await streams.info(this.#stream);
    } catch (error) {
      if ((error as { code?: number }).code !== NOT_FOUND) throw error;
      return streams.add(this.#config());
    }
  }

  #config() {
    const { replicas, bytesMax } = this.#options;
    return {
      name: this.#stream,
      subjects: [`${this.#prefix}*`],
      num_replicas: replicas,
      storage: "file",
      discard: "old",
      max_bytes: bytesMax,
      max_age: AGE_NS,
    };
  }

  async read(after: number, take: (part: NodePart) => Promise<void>) {
    const source = await available(() => this.#options.source(this.#stream, after + 1), 0);
    let isClosed = false;
    const end = () => source.close().catch(() => undefined);
    const run = async () => {
      try {
        await readWatched(source, after, async (message) => {
          if (!isClosed) await take(await this.#partOf(message));
          return !isClosed;
        });
      } finally {
        await end();
      }
    };
    const close = () => {
      isClosed = true;
      void end();
    };
    return { ended: run(), close };
  }

  /** What nobody of a cluster has sent becomes a part that no reader takes. */
  async #partOf({ seq, subject, headers, data, info }: Delivered): Promise<NodePart> {
    const node = subject.slice(this.#prefix.length);
    const segment = headers?.get(SEGMENT) ?? "";
    const from = Number(headers?.get(FROM));
    const options = { maxOutputLength: PART_BYTES_MAX };
    const bytes = await promisify(inflateRaw)(data, options).catch(() => new Uint8Array());
    return { seq, node, segment, from, bytes, behind: info.pending };
  }
}
