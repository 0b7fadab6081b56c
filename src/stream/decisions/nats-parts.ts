// Parts of decision segments on NATS JetStream: a stream beside the log, a subject for each node, each part
// compressed. Made by the first node that needs it.
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import { buildMessageHeaders } from "../nats-connection.ts";
import { type LogSource, readUntilStalled } from "../watched-reading.ts";
import { isStreamMissing, retryUntilAvailable, wrapAsStreamUnavailable } from "../retries.ts";
import { digest, type LogSeals, type SealedContent } from "../seal.ts";
import {
  type DecisionParts,
  type NodeSegmentPart,
  type DecisionSegmentPart,
  DECISION_PART_BYTES_MAX,
  type PartPlace,
  type PartStreamState,
} from "./parts.ts";

const SEGMENT = "Tr-Segment";
const FROM = "Tr-From";
const TO = "Tr-To";
const SEAL = "Tr-Seal";
const REQUEST_MS = 2000;
/** So long parts are kept for a node that is away. */
const PART_AGE_NS_MAX = 7 * 86_400_000_000_000;

interface PartHeaders {
  get(name: string): string;
}

interface DeliveredPart {
  readonly seq: number;
  readonly subject: string;
  readonly headers?: PartHeaders | undefined;
  readonly data: Uint8Array;
  readonly info: { readonly pending: number; readonly timestampNanos: number };
}

/** A part as the stream has it. */
interface StoredPart {
  readonly subject: string;
  readonly headers: PartHeaders | undefined;
  readonly data: Uint8Array;
  /** When the stream took it, epoch ms. */
  readonly atMs: number;
}

interface PartStreamInfo {
  readonly created: string;
  readonly state: { readonly first_seq: number; readonly last_seq: number };
}

/** The part of a JetStream client that is needed. */
export interface PartPublisher {
  publish(
    subject: string,
    payload: Uint8Array,
    options: { headers: ReturnType<typeof buildMessageHeaders>; timeout: number },
  ): Promise<unknown>;
}

/** The part of a JetStream manager that is needed. */
export interface PartStreamManager {
  readonly streams: {
    info(stream: string): Promise<PartStreamInfo>;
    add(config: Record<string, unknown> & { name: string }): Promise<PartStreamInfo>;
    getMessage(
      stream: string,
      query: { last_by_subj: string },
    ): Promise<{
      readonly header: PartHeaders;
      readonly data: Uint8Array;
      readonly time: Date;
    } | null>;
  };
}

export interface NatsDecisionPartsOptions {
  /** Prefix of the names of stream and subjects. */
  readonly name: string;
  readonly replicas: number;
  /** Bound of the stream in bytes. */
  readonly bytesMax: number;
  readonly client: PartPublisher;
  readonly manager: PartStreamManager;
  /** A reading from a place on, on a connection of its own. */
  readonly source: (stream: string, from: number) => Promise<LogSource<DeliveredPart>>;
  /** Left out: parts carry no seals. */
  readonly seals: LogSeals | undefined;
  /** Whether a part that the stream took then, epoch ms, counts only with a valid seal. */
  readonly isSealDemanded: (atMs: number) => boolean;
  readonly log: (event: string, detail: string) => void;
}

export class NatsDecisionParts implements DecisionParts {
  readonly #options: NatsDecisionPartsOptions;
  readonly #stream: string;
  readonly #prefix: string;
  #isUnsealedTold = false;

  constructor(options: NatsDecisionPartsOptions) {
    this.#options = options;
    this.#stream = `${options.name}_decisions`;
    this.#prefix = `${options.name}.decisions.`;
  }

  async publish(node: string, { segment, from, bytes }: DecisionSegmentPart): Promise<void> {
    const to = String(from + bytes.byteLength);
    const payload = await promisify(deflateRaw)(bytes);
    const subject = this.#prefix + node;
    const content = buildSealedPart(subject, [segment, String(from), to], payload);
    const seal = this.#options.seals?.computeSeal(content) ?? "";
    const members = { [SEGMENT]: segment, [FROM]: String(from), [TO]: to, [SEAL]: seal };
    const headers = buildMessageHeaders(members);
    try {
      const options = { headers, timeout: REQUEST_MS };
      await this.#options.client.publish(subject, payload, options);
    } catch (error) {
      throw wrapAsStreamUnavailable(error);
    }
  }

  async findNewestPlace(node: string): Promise<PartPlace | undefined> {
    await this.state();
    const subject = this.#prefix + node;
    const query = { last_by_subj: subject };
    const newest = await retryUntilAvailable(
      () => this.#options.manager.streams.getMessage(this.#stream, query),
      0,
    );
    if (newest === null) return undefined;
    const { header: headers, data, time } = newest;
    // Sent again are all parts then: where each stands is known by its place.
    if (!this.#counts({ subject, headers, data, atMs: time.getTime() })) return undefined;
    return { segment: newest.header.get(SEGMENT), byte: Number(newest.header.get(TO)) };
  }

  async state(): Promise<PartStreamState> {
    const { created, state } = await retryUntilAvailable(() => this.#readOrCreateStream(), 0);
    return { id: created, firstSeq: state.first_seq, lastSeq: state.last_seq };
  }

  async #readOrCreateStream(): Promise<PartStreamInfo> {
    const { streams } = this.#options.manager;
    try {
      return await streams.info(this.#stream);
    } catch (error) {
      if (!isStreamMissing(error)) throw error;
      return streams.add(this.#buildPartStreamConfig());
    }
  }

  #buildPartStreamConfig() {
    const { replicas, bytesMax } = this.#options;
    return {
      name: this.#stream,
      subjects: [`${this.#prefix}*`],
      num_replicas: replicas,
      storage: "file",
      discard: "old",
      max_bytes: bytesMax,
      max_age: PART_AGE_NS_MAX,
    };
  }

  async read(after: number, take: (part: NodeSegmentPart) => Promise<void>) {
    const source = await retryUntilAvailable(
      () => this.#options.source(this.#stream, after + 1),
      0,
    );
    let isClosed = false;
    const end = () => source.close().catch(() => undefined);
    const run = async () => {
      try {
        await readUntilStalled(source, after, async (message) => {
          if (!isClosed) await take(await this.#decodePart(message));
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

  /** A part that no node of the cluster has sent is decoded to one that no reader takes. */
  async #decodePart({
    seq,
    subject,
    headers,
    data,
    info,
  }: DeliveredPart): Promise<NodeSegmentPart> {
    const node = subject.slice(this.#prefix.length);
    const counts = this.#counts({ subject, headers, data, atMs: info.timestampNanos / 1e6 });
    if (!counts && !this.#isUnsealedTold) {
      this.#isUnsealedTold = true;
      const detail = `part ${seq} of decisions, in the name of node ${node}, and others maybe: no node of this cluster has sealed it`;
      this.#options.log("decisions_unsealed", detail);
    }
    const segment = counts ? (headers?.get(SEGMENT) ?? "") : "";
    const from = Number(headers?.get(FROM));
    const options = { maxOutputLength: DECISION_PART_BYTES_MAX };
    const inflate = () => promisify(inflateRaw)(data, options).catch(() => new Uint8Array());
    const bytes = counts ? await inflate() : new Uint8Array();
    return { seq, node, segment, from, bytes, behind: info.pending };
  }

  #counts({ subject, headers, data, atMs }: StoredPart): boolean {
    const { seals, isSealDemanded } = this.#options;
    if (!isSealDemanded(atMs)) return true;
    const place = [SEGMENT, FROM, TO].map((name) => headers?.get(name) ?? "");
    const seal = headers?.get(SEAL) ?? "";
    return seals?.isSealed(buildSealedPart(subject, place, data), seal) ?? false;
  }
}

function buildSealedPart(
  subject: string,
  place: readonly string[],
  payload: Uint8Array,
): SealedContent {
  return ["part", subject, ...place, digest(payload)];
}
