// `trustrank policy backtest [FILE]`: a policy on the outcomes so far, beside the live one, as a
// table and on request as a page. Works on the files when no server holds them.
import { DAY_MS } from "../../contract/units.ts";
import { writeFileSync } from "node:fs";
import type { Policy } from "../../contract/policy.ts";
import type {
  Backtest,
  BacktestFindings,
  BacktestList,
  BacktestRow,
} from "../../contract/schemas/backtest.ts";
import { resolveDataPaths } from "../../journal/data-directory.ts";
import { BacktestService } from "../../kaizen/service/backtests.ts";
import { KaizenService } from "../../kaizen/service/service.ts";
import { renderBacktestPage } from "../../kaizen/report/backtest-page.ts";
import {
  describeMoneyTerms,
  formatMoneyShare,
  MONEY_PLAN_LABELS,
  MONEY_QUESTION_LABELS,
} from "../../kaizen/report/backtest-money.ts";
import {
  formatCount,
  describeAmountUnit,
  formatFalseAlarms,
  formatMoney,
  BACKTEST_QUESTION_LABELS,
  formatReasonLabel,
  formatPercent,
} from "../../kaizen/report/backtest-tables.ts";
import { CommandFailure } from "../../service/failure.ts";
import { readSetting } from "../../service/settings/settings.ts";
import { OPERATOR_CALL } from "../../service/import/local-sink.ts";
import { runOnFilesOrServer, type DataAccess } from "../data-access.ts";
import { readEnvironment } from "../environment.ts";
import { withCoreOnFiles } from "../file-core.ts";
import { printNote, print, printJson, printTable, type OutputFlags } from "../output.ts";
import { readPolicy } from "./policy-command.ts";
import { Progress } from "../progress.ts";
import type { ServerClient } from "../server-client.ts";

const POLL_MS = 300;
/** Rules shown of those that held good outcomes back. */
const REASONS_SHOWN = 6;

export interface BacktestFlags extends OutputFlags {
  readonly tenant: string;
  /** Epoch ms. */
  readonly from?: number;
  readonly to?: number;
  readonly days?: number;
  readonly unvouched?: boolean;
  readonly page?: string;
}

interface BacktestArguments {
  readonly tenant: string;
  readonly given: Policy | undefined;
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly includesUnvouched: boolean;
}

/**
 * Makes a back-test and prints it.
 * @throws CommandFailure naming every member of the file that is wrong, or why it broke.
 */
export async function backtestPolicy(
  access: DataAccess,
  path: string | undefined,
  flags: BacktestFlags,
): Promise<void> {
  const { tenant, from, to, days } = flags;
  const fromMs = days === undefined ? from : (to ?? Date.now()) - days * DAY_MS;
  if (fromMs !== undefined && to !== undefined && to <= fromMs) {
    throw new CommandFailure("--to must be after --from");
  }
  const given = path === undefined ? undefined : await readPolicy(path);
  const order = { tenant, given, fromMs, toMs: to, includesUnvouched: flags.unvouched === true };
  const backtest = await runOnFilesOrServer<Backtest>(
    access,
    (dataDir) => runBacktestOnFiles(dataDir, order),
    (client) => runBacktestOnServer(client, order),
  );
  if (backtest.findings === undefined) {
    throw new CommandFailure(`the back-test broke: ${backtest.reason}`);
  }
  if (flags.page !== undefined) {
    writeFileSync(flags.page, renderBacktestPage(backtest));
    printNote(`wrote ${flags.page}`);
  }
  if (flags.json === true) printJson(backtest);
  else printBacktest(backtest, backtest.findings);
}

function runBacktestOnFiles(dataDir: string, order: BacktestArguments): Promise<Backtest> {
  return withCoreOnFiles(dataDir, ({ ledger, policies }, log) => {
    const { journal } = resolveDataPaths(dataDir);
    const shared = { dataDir, journal, ledger, clock: Date.now, log };
    const kaizen = new KaizenService(shared);
    const backtests = new BacktestService({
      ...shared,
      policies,
      weights: () => kaizen.weights(),
      unitOfAccount: readSetting("unitOfAccount", undefined, readEnvironment()),
    });
    const startedBy = OPERATOR_CALL.principal.keyId;
    const { done } = backtests.start({ ...order, startedBy })!;
    return showBacktestProgress(done, async () => backtests.list().running?.share ?? 1);
  });
}

async function runBacktestOnServer(
  client: ServerClient,
  order: BacktestArguments,
): Promise<Backtest> {
  const { tenant, given, fromMs, toMs, includesUnvouched } = order;
  const route = `/v1/policy/backtest?tenant=${encodeURIComponent(tenant)}`;
  const { backtest_id: id } = await client.sendJson<Backtest>("POST", route, {
    policy: given,
    from: fromMs,
    to: toMs,
    include_unvouched: includesUnvouched,
    wait: false,
  });
  const list = () => client.sendJson<BacktestList>("GET", "/v1/policy/backtests");
  const ended = async () => {
    for (;;) {
      const found = await client.sendJson<Backtest>("GET", `/v1/policy/backtests/${id}`);
      if (found.state !== "running") return found;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  return showBacktestProgress(ended(), async () => (await list()).running?.share ?? 1);
}

async function showBacktestProgress<T>(
  done: Promise<T>,
  shareOfWork: () => Promise<number>,
): Promise<T> {
  const progress = new Progress("back-test", 100);
  const timer = setInterval(() => {
    // Only the bar depends on it: the result comes by another way.
    shareOfWork().then(
      (share) => progress.update(Math.round(100 * share)),
      () => undefined,
    );
  }, POLL_MS);
  try {
    return await done;
  } finally {
    clearInterval(timer);
    progress.stop();
  }
}

/** Amounts are in `unit`. */
const listMoneyColumns = (unit: string): string[] => [
  "asked as",
  "decided by",
  ...["lost", "friction", "review", "cost"].map((name) => `${name}, ${unit}`),
  "cost, % of volume",
  "good connected",
  "good held",
];

/** The same. */
const listColumns = (unit: string): string[] => [
  "level",
  "asked as",
  "policy",
  "good allowed",
  "bad allowed",
  "good denied (95 % interval)",
  "bad denied",
  `stakes lost, ${unit}`,
  `stakes turned away, ${unit}`,
];

const POLICY_COLUMN = listColumns("").indexOf("policy");

function formatBacktestCells(row: BacktestRow): string[] {
  const { rate, interval } = formatFalseAlarms(row);
  const alarms = rate === "" ? "" : `${rate} (${interval})`;
  return [
    row.level,
    BACKTEST_QUESTION_LABELS[row.question],
    row.policy,
    formatPercent(row.good_allowed, row.good),
    formatPercent(row.bad_allowed, row.bad),
    alarms,
    formatPercent(row.bad_quarantined + row.bad_blocked, row.bad),
    formatMoney(row.stakes_lost),
    formatMoney(row.stakes_turned_away),
  ];
}

/** Two policies that give the same figures in one line. */
function mergeEqualPolicies(rows: readonly string[][]): string[][] {
  const joinFigures = (row: readonly string[] | undefined) =>
    row?.toSpliced(POLICY_COLUMN, 1).join();
  return rows.flatMap((row, at) => {
    const isTwin = (other: number) => joinFigures(rows[other]) === joinFigures(row);
    if (row[POLICY_COLUMN] === "given" && isTwin(at - 1)) return [];
    return isTwin(at + 1) ? [row.with(POLICY_COLUMN, "both")] : [row];
  });
}

function printBacktest(backtest: Backtest, findings: BacktestFindings): void {
  const { backtest_id: id, live_version: live, given_version: given, warnings = [] } = backtest;
  const { good, bad, first_at: first, last_at: last } = findings;
  const beside = given === null ? live : `${given} beside the live ${live}`;
  printNote(`back-test ${id} of ${beside}, tenant ${backtest.tenant}`);
  const days = first === null ? "" : `, settled ${first.slice(0, 10)} to ${last!.slice(0, 10)}`;
  const counted = `${formatCount(good)} good and ${formatCount(bad)} bad outcomes`;
  printNote(
    `${counted} of all tenants together${days}; amounts are in ${describeAmountUnit(backtest)}`,
  );
  for (const warning of warnings) printNote(`note: ${warning}`);
  const held = new Set(findings.curves.map((curve) => curve.level));
  const rows = findings.rows
    .filter((row) => held.has(row.level) && row.good + row.bad > 0)
    .toSorted((a, b) => computeRowOrder(a) - computeRowOrder(b));
  printTable(
    listColumns(describeAmountUnit(backtest)),
    mergeEqualPolicies(rows.map(formatBacktestCells)),
  );
  printReasons(backtest, findings);
  printMoney(backtest, findings);
}

/** What each way to decide would have cost; nothing where no deal had stakes that were known. */
function printMoney(backtest: Backtest, { money }: BacktestFindings): void {
  const { live, given } = backtest;
  const unit = describeAmountUnit(backtest);
  const deals = money[0]?.deals ?? 0;
  const counted = given ?? live;
  if (deals === 0 || counted === undefined) return;
  print("");
  printNote(`cost on ${formatCount(deals)} deals: ${describeMoneyTerms(counted.policy, unit)}`);
  const rows = money.map((row) => [
    MONEY_QUESTION_LABELS[row.asked],
    MONEY_PLAN_LABELS[row.plan],
    ...[row.lost, row.friction, row.review, row.cost].map(formatMoney),
    ...[row.cost_share, row.good_connected, row.good_held].map(formatMoneyShare),
  ]);
  printTable(listMoneyColumns(unit), rows);
}

/** By level, then by question, the live policy first: what is to be compared stands together. */
function computeRowOrder({ level, question, policy }: BacktestRow): number {
  const questions = Object.keys(BACKTEST_QUESTION_LABELS);
  const at = Number(level.slice(1)) * questions.length + questions.indexOf(question);
  return at * 2 + (policy === "live" ? 0 : 1);
}

function printReasons({ given_version: given }: Backtest, { reasons }: BacktestFindings): void {
  const policy = given === null ? "live" : "given";
  const rows = reasons
    .filter((reason) => reason.policy === policy && reason.question === "verify")
    .filter((reason) => reason.good > 0)
    .slice(0, REASONS_SHOWN)
    .map((reason) => [
      reason.level,
      formatCount(reason.good),
      formatCount(reason.bad),
      reason.verdict,
      formatReasonLabel(reason.log_reason),
    ]);
  if (rows.length === 0) return;
  print("");
  printNote(`held back by the ${policy} policy, asked as ${BACKTEST_QUESTION_LABELS.verify}:`);
  printTable(["level", "good", "bad", "verdict", "because"], rows);
}
