// Loads the native server, and only the known one: the hash of the binary is compared with the
// constants below before it is loaded, because loading is running. The package is a repack by third
// parties, so the lock file alone is not trusted.
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import path from "node:path";
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from "uWebSockets.js";

export type { HttpRequest, HttpResponse, us_listen_socket };

/** The part of the native module that the adapter uses; `_cfg` is missing from its own types. */
export interface UwsModule {
  App(): TemplatedApp & {
    listen(
      host: string,
      port: number,
      options: number,
      done: (socket: us_listen_socket | false) => void,
    ): TemplatedApp;
    /** Replaces whatever lies at the path, and writes past its own memory where that is too long. */
    listen_unix(done: (socket: us_listen_socket | false) => void, path: string): TemplatedApp;
    /** Called for each connection, with 1 once it is open and with -1 once it is not. */
    filter(changed: (response: HttpResponse, change: number) => void): void;
  };
  us_listen_socket_close(socket: us_listen_socket): void;
  us_socket_local_port(socket: us_listen_socket): number;
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  _cfg(setting: "silent"): void;
}

/** SHA-256 of each binary of uws-pack 20.0.8 for the module ABI of Node 22 (127). */
const BINARY_HASHES: Readonly<Record<string, string>> = {
  uws_darwin_arm64_127: "abbeea53d48e21c01808203e9f9835728f2cea720d2e5b154837ee3045b513be",
  uws_darwin_x64_127: "afd992dc1ca1e33cdc7ce0c72a60baf236e590a257fcecbbbce7bc1a35451387",
  uws_linux_arm64_127: "d4c4f8b2c28c5f6544b49e36d91b0beee238a5b90a07904a947f77061c8b814d",
  uws_linux_arm_127: "0e1d4024b629a1fe17ec76cde8fe7e320101eb8bdcf7b2c4086933932e3cea23",
  uws_linux_x64_127: "8cabc918bbf9a07323e54f89a33882491080b2eb35df0607f473ccdb1f3c31af",
  uws_win32_x64_127: "585d6ee2dbfc750b1d5a59e6ceaef8a977e90ef3e298a82821d58b41cd72a8c0",
};

let loadedModule: UwsModule | undefined;

/**
 * The native module. `headerBytesMax` holds from the first load on.
 * @throws Error with the reason when this platform has no known binary, the binary is not the known
 *   one, or it does not load.
 */
export function loadUws(headerBytesMax: number): UwsModule {
  if (loadedModule !== undefined) return loadedModule;
  const name = `uws_${process.platform}_${process.arch}_${process.versions.modules}`;
  const expected = BINARY_HASHES[name];
  if (expected === undefined) throw new Error(`no known binary for \`${name}\``);
  const manifest = findPackageJSON("uWebSockets.js", import.meta.url);
  if (manifest === undefined) throw new Error("the package `uWebSockets.js` is not installed");
  const file = path.join(path.dirname(manifest), "dist", "bin", `${name}.node`);
  assertBinaryHash(file, expected);
  // Read by the native code when it loads (default 4096); there is no other way to set it.
  process.env["UWS_HTTP_MAX_HEADERS_SIZE"] ??= String(headerBytesMax);
  const uws = createRequire(import.meta.url)(file) as UwsModule;
  // No version header: it would help an attacker.
  uws._cfg("silent");
  loadedModule = uws;
  return uws;
}

/** @throws Error unless the file has this SHA-256. */
export function assertBinaryHash(file: string, expected: string): void {
  const actual = hash("sha256", readFileSync(file), "hex");
  if (actual !== expected) throw new Error(`\`${path.basename(file)}\` has hash \`${actual}\``);
}
