// Address of a server as commands take it: `http://...`, or `unix:/path` for a socket of the file system.
import { type FetchLike, callGlobalFetch } from "../client/runtime.ts";
import { socketFetch } from "../client/socket-fetch.ts";

export interface ServerAddress {
  /** What requests begin with. */
  readonly base: string;
  readonly fetch: FetchLike;
  /** Path of the socket, where it is one. */
  readonly socket: string | undefined;
}

export function parseServerAddress(url: string): ServerAddress {
  const socket = /^unix:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
  if (socket === undefined) {
    return { base: url.replace(/\/+$/, ""), fetch: callGlobalFetch, socket };
  }
  return { base: "http://localhost", fetch: socketFetch(socket), socket };
}
