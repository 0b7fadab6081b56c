// Bounds of the gRPC server, apart from it: whoever counts descriptors must not load its packages.

/** Envoy keeps one connection for each of its worker threads. */
export const GRPC_CONNECTIONS_MAX = 256;
/** Calls under way on one connection. */
export const GRPC_CALLS_MAX = 1000;
/** Envoy sends all headers of the request (60 KiB by its default), and a body where told to. */
export const GRPC_MESSAGE_BYTES_MAX = 256 * 1024;
export const GRPC_IDLE_MS = 300_000;
/** For headers and compression, of one connection. */
export const GRPC_SESSION_MEGABYTES = 10;
