// Test files of `npm run test:long`: kills, chaos, attacks, soaks and power cuts, benches, long suites over real
// gateways, and matrices of packages and frameworks. All others are `npm test`.

/** Folders (with a slash at the end) and files, relative to the root. */
const PATHS = [
  "test/bench/",
  "test/cluster/",
  "test/crash/",
  "test/cli/export-command.test.ts",
  "test/cli/policy/backtest-command.test.ts",
  "test/cli/signing-keys.test.ts",
  "test/client/nodes/killed-node.test.ts",
  "test/client/published.test.ts",
  "test/client/service-package.test.ts",
  "test/deploy/image-build.test.ts",
  "test/engine/true-reasons-long.test.ts",
  "test/gateways/caddy.test.ts",
  "test/gateways/conformance.test.ts",
  "test/gateways/haproxy.test.ts",
  "test/gateways/killed-node.test.ts",
  "test/gateways/nginx.test.ts",
  "test/ledger/archive/command.test.ts",
  "test/ledger/backup/command.test.ts",
  "test/ledger/kill.test.ts",
  "test/service/failures.test.ts",
  "test/service/slow-strangers.test.ts",
  "test/service/watched.test.ts",
  "test/spec/restart.test.ts",
  "test/store/sandbox/spill.test.ts",
  "test/stream/failover.test.ts",
  "test/threads/http/end.test.ts",
  "test/threads/query-process.test.ts",
  "test/webhooks/kill.test.ts",
];

/** For vitest. */
export const LONG_GLOBS = PATHS.map((path) => (path.endsWith("/") ? `${path}**/*.test.ts` : path));

/** Whether a file, relative to the root, is one of them. */
export function isLong(file: string): boolean {
  return PATHS.some((path) => (path.endsWith("/") ? file.startsWith(path) : file === path));
}
