// Messages of Envoy's external authorization as bytes, by protobufjs from ext_authz.proto. The only
// file that knows the package, which grpc-js brings along anyway; read when gRPC is switched on.
import { fileURLToPath } from "node:url";
import protobuf from "protobufjs";

const PROTO_PATH = fileURLToPath(new URL("ext_authz.proto", import.meta.url));
const PACKAGE = "envoy.service.auth.v3";

/** Members that were not sent are null, undefined or empty. */
export interface EnvoyCheckRequest {
  readonly attributes?: {
    readonly source?: { readonly principal: string } | null;
    readonly request?: {
      readonly http?: {
        readonly method: string;
        readonly headers: Readonly<Record<string, string>>;
      } | null;
    } | null;
    readonly contextExtensions: Readonly<Record<string, string>>;
  } | null;
}

export interface HeaderOption {
  readonly header: { readonly key: string; readonly value: string };
  readonly append: { readonly value: boolean };
}

type DynamicMetadataValue =
  | { readonly stringValue: string }
  | { readonly numberValue: number }
  | { readonly boolValue: boolean };

export interface EnvoyCheckResponse {
  readonly status: { readonly code: number; readonly message?: string };
  readonly okResponse?: {
    readonly headers: readonly HeaderOption[];
    readonly responseHeadersToAdd: readonly HeaderOption[];
  };
  readonly deniedResponse?: {
    readonly status: { readonly code: number };
    readonly headers: readonly HeaderOption[];
    readonly body: string;
  };
  readonly dynamicMetadata?: { readonly fields: Readonly<Record<string, DynamicMetadataValue>> };
}

/** One message's two directions. */
export interface MessageCodec<Message> {
  readonly encode: (message: Message) => Buffer;
  /** @throws Error for bytes that are no such message. */
  readonly decode: (bytes: Buffer) => Message;
}

export interface EnvoyCheckMessages {
  readonly request: MessageCodec<EnvoyCheckRequest>;
  readonly response: MessageCodec<EnvoyCheckResponse>;
}

/** Reads the file of the messages; once, at the start. */
export function loadCheckMessages(): EnvoyCheckMessages {
  const root = protobuf.loadSync(PROTO_PATH);
  return {
    request: createCodec<EnvoyCheckRequest>(root.lookupType(`${PACKAGE}.CheckRequest`)),
    response: createCodec<EnvoyCheckResponse>(root.lookupType(`${PACKAGE}.CheckResponse`)),
  };
}

function createCodec<Message extends object>(type: protobuf.Type): MessageCodec<Message> {
  return {
    encode: (message) => Buffer.from(type.encode(message).finish()),
    decode: (bytes) => type.decode(bytes) as unknown as Message,
  };
}
