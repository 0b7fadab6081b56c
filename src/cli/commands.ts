// The commands, each loaded when it is asked for. All of them together load 850 modules, DuckDB
// among them, which takes half a second of CPU; `serve` and `keys` need a part of that.

type Command<Parameters extends unknown[]> = (...parameters: Parameters) => Promise<void> | void;

/** The command of a module that is not loaded before the command is called. */
function loaded<Parameters extends unknown[], Module>(
  load: () => Promise<Module>,
  commandOf: (module: Module) => Command<Parameters>,
): (...parameters: Parameters) => Promise<void> {
  return async (...parameters) => commandOf(await load())(...parameters);
}

const archive = () => import("./backup/archive-command.ts");
const backup = () => import("./backup/backup-command.ts");
const backtest = () => import("./policy/backtest-command.ts");
const clusterBootstrap = () => import("./cluster/bootstrap-command.ts");
const clusterRepair = () => import("./cluster/repair-command.ts");
const clusterRestore = () => import("./cluster/restore-command.ts");
const clusterStatus = () => import("./cluster/status-command.ts");
const clusterTrim = () => import("./cluster/trim-command.ts");
const config = () => import("./config-command.ts");
const credibility = () => import("./credibility-command.ts");
const doctor = () => import("./doctor-command.ts");
const evidence = () => import("./evidence/evidence-command.ts");
const exporting = () => import("./export-command.ts");
const importing = () => import("./import-command.ts");
const kaizen = () => import("./kaizen-command.ts");
const keyChanges = () => import("./keys/change-command.ts");
const signing = () => import("./keys/signing-command.ts");
const keys = () => import("./keys/keys-command.ts");
const labels = () => import("./evidence/evidence-labels-command.ts");
const mcp = () => import("./mcp-command.ts");
const namespaces = () => import("./namespaces-command.ts");
const policy = () => import("./policy/policy-command.ts");
const query = () => import("./query-command.ts");
const quotas = () => import("./usage/quotas-command.ts");
const restore = () => import("./backup/restore-command.ts");
const reviews = () => import("./reviews/reviews-command.ts");
const serve = () => import("./serve-command.ts");
const webhooks = () => import("./webhooks/webhooks-command.ts");
const usage = () => import("./usage/usage-command.ts");
const upgrade = () => import("./upgrade/upgrade-command.ts");
const vouching = () => import("./policy/vouch-command.ts");

export const addEvidence = loaded(evidence, (module) => module.addEvidence);
export const addWebhook = loaded(webhooks, (module) => module.add);
export const backtestPolicy = loaded(backtest, (module) => module.backtestPolicy);
export const checkConfig = loaded(config, (module) => module.checkConfig);
export const checkUpgrade = loaded(upgrade, (module) => module.checkUpgrade);
export const claimReview = loaded(reviews, (module) => module.claim);
export const createKey = loaded(keys, (module) => module.createKey);
export const decideReview = loaded(reviews, (module) => module.decide);
export const followExport = loaded(exporting, (module) => module.followExport);
export const grantNamespace = loaded(namespaces, (module) => module.grant);
export const labelTexts = loaded(labels, (module) => module.labelTexts);
export const listArchive = loaded(archive, (module) => module.listArchive);
export const listEvidence = loaded(evidence, (module) => module.listEvidence);
export const listKeys = loaded(keys, (module) => module.listKeys);
export const listQuotas = loaded(quotas, (module) => module.listQuotas);
export const listNamespaces = loaded(namespaces, (module) => module.list);
export const listReviews = loaded(reviews, (module) => module.list);
export const listThresholds = loaded(labels, (module) => module.listThresholds);
export const promoteRun = loaded(kaizen, (module) => module.promoteRun);
export const removeQuota = loaded(quotas, (module) => module.removeQuota);
export const bootstrapNode = loaded(clusterBootstrap, (module) => module.bootstrapNode);
export const repairNode = loaded(clusterRepair, (module) => module.repairNode);
export const restoreCluster = loaded(clusterRestore, (module) => module.restoreCluster);
export const revokeEvidence = loaded(evidence, (module) => module.revokeEvidence);
export const revokeKey = loaded(keys, (module) => module.revokeKey);
export const revokeNamespace = loaded(namespaces, (module) => module.revoke);
export const rotateKey = loaded(keyChanges, (module) => module.rotateKey);
export const rotateSigningKey = loaded(signing, (module) => module.rotateSigningKey);
export const rollBack = loaded(kaizen, (module) => module.rollBack);
export const runBackup = loaded(backup, (module) => module.runBackup);
export const runCredibility = loaded(credibility, (module) => module.runCredibility);
export const runDoctor = loaded(doctor, (module) => module.runDoctor);
export const runExport = loaded(exporting, (module) => module.runExport);
export const runImport = loaded(importing, (module) => module.runImport);
export const runKaizen = loaded(kaizen, (module) => module.runKaizen);
export const runMcp = loaded(mcp, (module) => module.runMcp);
export const runPrune = loaded(archive, (module) => module.runPrune);
export const runQuery = loaded(query, (module) => module.runQuery);
export const runRestore = loaded(restore, (module) => module.runRestore);
export const runServe = loaded(serve, (module) => module.runServe);
export const setKey = loaded(keyChanges, (module) => module.setKey);
export const setPolicy = loaded(policy, (module) => module.setPolicy);
export const setQuota = loaded(quotas, (module) => module.setQuota);
export const showClusterStatus = loaded(clusterStatus, (module) => module.showClusterStatus);
export const showPolicy = loaded(policy, (module) => module.showPolicy);
export const showReview = loaded(reviews, (module) => module.show);
export const showRun = loaded(kaizen, (module) => module.showRun);
export const showStatus = loaded(kaizen, (module) => module.showStatus);
export const showUsage = loaded(usage, (module) => module.showUsage);
export const transferNamespace = loaded(namespaces, (module) => module.transfer);
export const trimLog = loaded(clusterTrim, (module) => module.trimLog);
export const unvouch = loaded(vouching, (module) => module.unvouch);
export const vouch = loaded(vouching, (module) => module.vouch);
export const listWebhooks = loaded(webhooks, (module) => module.list);
export const removeWebhook = loaded(webhooks, (module) => module.remove);
export const enableWebhook = loaded(webhooks, (module) => module.enable);
export const disableWebhook = loaded(webhooks, (module) => module.disable);
export const renewWebhookSecret = loaded(webhooks, (module) => module.renewSecret);
export const testWebhook = loaded(webhooks, (module) => module.test);
export const listDeadWebhooks = loaded(webhooks, (module) => module.dead);
