// Test files of `npm run test:long`: kills, chaos, attacks, soaks and power cuts, benches, long suites over real
// gateways, matrices of packages and frameworks, and files that take seven seconds a test, since they start services
// and commands one after the other. All others are `npm test`.

/** Folders (with a slash at the end) and files, relative to the root. */
const PATHS = [
  "test/attack/",
  "test/bench/",
  "test/cli/assessments.test.ts",
  "test/cli/evidence/evidence-command.test.ts",
  "test/cli/export-command.test.ts",
  "test/cli/keys-command.test.ts",
  "test/cli/logging/service-log.test.ts",
  "test/cli/namespaces-command.test.ts",
  "test/cli/policy/backtest-command.test.ts",
  "test/cli/policy/policy-command.test.ts",
  "test/cli/signing-keys.test.ts",
  "test/cli/webhooks-command.test.ts",
  "test/client/nodes/killed-node.test.ts",
  "test/client/published.test.ts",
  "test/client/service-package.test.ts",
  "test/cluster/",
  "test/crash/",
  "test/deploy/image-build.test.ts",
  "test/engine/reasons.test.ts",
  "test/engine/true-reasons-long.test.ts",
  "test/frameworks/frameworks.test.ts",
  "test/gateways/caddy.test.ts",
  "test/gateways/conformance.test.ts",
  "test/gateways/haproxy.test.ts",
  "test/gateways/nginx.test.ts",
  "test/gateways/rolling.test.ts",
  "test/http/reads/metered-reads.test.ts",
  "test/http/routes/kaizen-promote.test.ts",
  "test/kaizen/credibility/rings-large.test.ts",
  "test/kaizen/gates/attacks/credibility.test.ts",
  "test/ledger/archive/command.test.ts",
  "test/ledger/backup/command.test.ts",
  "test/ledger/kill.test.ts",
  "test/ledger/refold.test.ts",
  "test/service/cluster/behind.test.ts",
  "test/service/cluster/cannot-follow.test.ts",
  "test/service/cluster/without-majority.test.ts",
  "test/service/failures.test.ts",
  "test/service/few-descriptors.test.ts",
  "test/service/slow-strangers.test.ts",
  "test/service/watched.test.ts",
  "test/spec/restart.test.ts",
  "test/store/rows/journal.test.ts",
  "test/store/sandbox/copy.test.ts",
  "test/store/sandbox/spill.test.ts",
  "test/stream/failover.test.ts",
  "test/threads/http/access-denied.test.ts",
  "test/threads/http/end.test.ts",
  "test/threads/http/quotas.test.ts",
  "test/threads/query-process.test.ts",
  "test/threads/scrub.test.ts",
  "test/webhooks/kill.test.ts",
];

/** For vitest. */
export const LONG_GLOBS = PATHS.map((path) => (path.endsWith("/") ? `${path}**/*.test.ts` : path));

/** Whether a file, relative to the root, is one of them. */
export function isLong(file: string): boolean {
  return PATHS.some((path) => (path.endsWith("/") ? file.startsWith(path) : file === path));
}
