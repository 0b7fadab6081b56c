// Envoy as the tests have it: its published API from envoy-api.txt, a client that speaks by it (and
// not by our own subset of it), and a check of configurations in YAML against it.
import {
  type ClientUnaryCall,
  credentials,
  type Client,
  makeGenericClientConstructor,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { readFileSync } from "node:fs";
import protobuf from "protobufjs";

export interface Field {
  readonly id: number;
  readonly type: string;
  readonly isRepeated: boolean;
  readonly isMap: boolean;
}

const TABLE = readFileSync(new URL("envoy-api.txt", import.meta.url), "utf8");
const SERVICE = "envoy.service.auth.v3.Authorization";

/** Fields by message and name; values by enum. */
export const MESSAGES = new Map<string, Map<string, Field>>();
export const ENUMS = new Map<string, Map<string, number>>();

for (const block of TABLE.split(/^(?=message |enum )/m).slice(1)) {
  const [head = "", ...lines] = block.trimEnd().split("\n");
  const [kind, name = ""] = head.split(" ");
  const rows = lines.map((line) => line.trim().split(" "));
  if (kind === "enum") {
    ENUMS.set(name, new Map(rows.map(([value, word = ""]) => [word, Number(value)])));
    continue;
  }
  const fields = rows.map(([id, field = "", type = ""]): [string, Field] => {
    const isMap = type.startsWith("map<string,");
    const isRepeated = type.startsWith("repeated:");
    const plain = type.replace(/^repeated:|^map<string,|>$/g, "");
    return [field, { id: Number(id), type: plain, isRepeated, isMap }];
  });
  MESSAGES.set(name, new Map(fields));
}

type Json = Record<string, unknown>;

/** protobufjs's own form of the table, without the members whose messages are not in it. */
function rootOf(): protobuf.Root {
  const nested: Json = {};
  for (const [name, fields] of MESSAGES) {
    const known = [...fields].filter(([, { type }]) => isKnown(type));
    nodeOf(nested, name)["fields"] = Object.fromEntries(
      known.map(([field, { id, type, isRepeated, isMap }]) => [
        field,
        { id, type, ...(isMap ? { keyType: "string" } : isRepeated ? { rule: "repeated" } : {}) },
      ]),
    );
  }
  for (const [name, values] of ENUMS) nodeOf(nested, name)["values"] = Object.fromEntries(values);
  const root = new protobuf.Root();
  for (const file of ["struct", "wrappers", "duration", "any"]) {
    root.addJSON(protobuf.common.get(`google/protobuf/${file}.proto`)!.nested!);
  }
  return root.addJSON(nested["nested"] as never) as protobuf.Root;
}

function isKnown(type: string): boolean {
  const isCommon = /^google\.protobuf\.(Struct|BoolValue|Duration|Any)$/.test(type);
  return !type.includes(".") || isCommon || MESSAGES.has(type) || ENUMS.has(type);
}

function nodeOf(nested: Json, name: string): Json {
  let at = nested;
  for (const part of name.split(".")) {
    const within = (at["nested"] ??= {}) as Json;
    at = (within[part] ??= {}) as Json;
  }
  return at;
}

export interface Envoy {
  /** Metadata of each call, as `initial_metadata` has it. */
  check(request: Json, options?: CallOptions): Promise<CheckAnswer>;
  close(): void;
}

interface CallOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
  /** Sent as they are, instead of the request. */
  readonly bytes?: Buffer;
}

export interface CheckAnswer {
  /** Of the call; 0 when there is a response. */
  readonly callCode: number;
  readonly details: string;
  /** Of the response's status. */
  readonly code: number;
  readonly httpStatus: number;
  /** To upstream when it is let through, else to the end client. */
  readonly headers: Readonly<Record<string, string>>;
  /** Added to the application's response. */
  readonly clientHeaders: Readonly<Record<string, string>>;
  readonly body: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A client on a connection of its own. */
export function connect(port: number): Envoy {
  const root = rootOf();
  const requestType = root.lookupType("envoy.service.auth.v3.CheckRequest");
  const responseType = root.lookupType("envoy.service.auth.v3.CheckResponse");
  const definition = {
    Check: {
      path: `/${SERVICE}/Check`,
      requestStream: false,
      responseStream: false,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    },
  } as const;
  const Constructor = makeGenericClientConstructor(definition, SERVICE);
  const client = new Constructor(`127.0.0.1:${port}`, credentials.createInsecure());
  return {
    close: () => client.close(),
    check(request, { metadata = {}, deadlineMs, bytes } = {}) {
      const sent = new Metadata();
      for (const [name, value] of Object.entries(metadata)) sent.add(name, value);
      const wire =
        bytes ?? Buffer.from(requestType.encode(requestType.fromObject(request)).finish());
      const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
      return new Promise((resolve) => {
        const call = (client as Client & Record<string, (...given: unknown[]) => ClientUnaryCall>)[
          "Check"
        ]!;
        const done = (error: ServiceError | null, answered?: Buffer) => {
          if (error !== null) resolve({ ...NOTHING, callCode: error.code, details: error.details });
          else resolve(shown(responseType.toObject(responseType.decode(answered!))));
        };
        call.call(client, wire, sent, options, done);
      });
    },
  };
}

const NOTHING: CheckAnswer = {
  callCode: 0,
  details: "",
  code: 0,
  httpStatus: 200,
  headers: {},
  clientHeaders: {},
  body: "",
  metadata: {},
};

interface Shown {
  readonly status?: { code?: number };
  readonly ok_response?: { headers: Option[]; response_headers_to_add?: Option[] };
  readonly denied_response?: { status: { code: number }; headers: Option[]; body: string };
  readonly dynamic_metadata?: { fields: Record<string, Record<string, unknown>> };
}

interface Option {
  header: { key: string; value: string };
  append: { value?: boolean };
}

function shown(given: Json): CheckAnswer {
  const {
    status,
    ok_response: ok,
    denied_response: denied,
    dynamic_metadata: dynamic,
  } = given as Shown;
  const options = ok?.headers ?? denied?.headers ?? [];
  const added = ok?.response_headers_to_add ?? [];
  // Appended, a header would stand beside the one that the end client forged.
  if (
    [...options, ...added].some(
      ({ append }) => append.value !== false && append.value !== undefined,
    )
  ) {
    throw new Error("a header is appended");
  }
  const fields = Object.entries(dynamic?.fields ?? {});
  return {
    ...NOTHING,
    code: status?.code ?? 0,
    httpStatus: denied?.status.code ?? 200,
    headers: Object.fromEntries(options.map(({ header }) => [header.key, header.value])),
    clientHeaders: Object.fromEntries(added.map(({ header }) => [header.key, header.value])),
    body: denied?.body ?? "",
    metadata: Object.fromEntries(fields.map(([name, value]) => [name, Object.values(value)[0]])),
  };
}
