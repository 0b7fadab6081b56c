// The commands, each loaded when it is asked for: all of them together load DuckDB and the schemas, a third of a
// second of CPU that most commands do not need.

type CommandFunction<Parameters extends unknown[]> = (
  ...parameters: Parameters
) => Promise<void> | void;

/** The command of a module that is not loaded before the command is called. */
function createLazyCommand<Parameters extends unknown[], Module>(
  load: () => Promise<Module>,
  selectCommand: (module: Module) => CommandFunction<Parameters>,
): (...parameters: Parameters) => Promise<void> {
  return async (...parameters) => selectCommand(await load())(...parameters);
}

const loadBackup = () => import("./backup/backup-command.ts");
const loadBacktest = () => import("./policy/backtest-command.ts");
const loadClusterBootstrap = () => import("./cluster/bootstrap-command.ts");
const loadClusterRepair = () => import("./cluster/repair-command.ts");
const loadClusterRestore = () => import("./cluster/restore-command.ts");
const loadClusterStatus = () => import("./cluster/status-command.ts");
const loadClusterUpgradeFinish = () => import("./cluster/upgrade-finish-command.ts");
const loadClusterTrim = () => import("./cluster/trim-command.ts");
const loadConditions = () => import("./conditions/conditions-command.ts");
const loadConfig = () => import("./config-command.ts");
const loadCredibility = () => import("./credibility-command.ts");
const loadDailyScores = () => import("./daily-scores-command.ts");
const loadDoctor = () => import("./doctor-command.ts");
const loadEvidence = () => import("./evidence/evidence-command.ts");
const loadExport = () => import("./export-command.ts");
const loadImport = () => import("./import-command.ts");
const loadKaizen = () => import("./kaizen-command.ts");
const loadKeys = () => import("./keys/keys-command.ts");
const loadSigning = () => import("./keys/signing-command.ts");
const loadMcp = () => import("./mcp-command.ts");
const loadNamespaces = () => import("./namespaces-command.ts");
const loadPolicy = () => import("./policy/policy-command.ts");
const loadPolicyTest = () => import("./policy/test-command.ts");
const loadQuery = () => import("./query-command.ts");
const loadQuotas = () => import("./usage/quotas-command.ts");
const loadReviews = () => import("./reviews/reviews-command.ts");
const loadServe = () => import("./serve-command.ts");
const loadWebhooks = () => import("./webhooks/webhooks-command.ts");
const loadUsage = () => import("./usage/usage-command.ts");
const loadUpgrade = () => import("./upgrade/upgrade-command.ts");

export const addEvidence = createLazyCommand(loadEvidence, (module) => module.addEvidence);
export const addWebhook = createLazyCommand(loadWebhooks, (module) => module.addWebhook);
export const backtestPolicy = createLazyCommand(loadBacktest, (module) => module.backtestPolicy);
export const checkConfig = createLazyCommand(loadConfig, (module) => module.checkConfig);
export const checkUpgrade = createLazyCommand(loadUpgrade, (module) => module.checkUpgrade);
export const claimReview = createLazyCommand(loadReviews, (module) => module.claimReview);
export const createKey = createLazyCommand(loadKeys, (module) => module.createKey);
export const decideReview = createLazyCommand(loadReviews, (module) => module.decideReview);
export const followExport = createLazyCommand(loadExport, (module) => module.followExport);
export const grantNamespace = createLazyCommand(loadNamespaces, (module) => module.grantNamespace);
export const labelTexts = createLazyCommand(loadEvidence, (module) => module.labelTexts);
export const listArchive = createLazyCommand(loadBackup, (module) => module.listArchive);
export const listEvidence = createLazyCommand(loadEvidence, (module) => module.listEvidence);
export const listKeys = createLazyCommand(loadKeys, (module) => module.listKeys);
export const listQuotas = createLazyCommand(loadQuotas, (module) => module.listQuotas);
export const listNamespaces = createLazyCommand(loadNamespaces, (module) => module.listNamespaces);
export const listReviews = createLazyCommand(loadReviews, (module) => module.listReviews);
export const listThresholds = createLazyCommand(loadEvidence, (module) => module.listThresholds);
export const promoteRun = createLazyCommand(loadKaizen, (module) => module.promoteRun);
export const removeQuota = createLazyCommand(loadQuotas, (module) => module.removeQuota);
export const bootstrapNode = createLazyCommand(
  loadClusterBootstrap,
  (module) => module.bootstrapNode,
);
export const repairNode = createLazyCommand(loadClusterRepair, (module) => module.repairNode);
export const restoreCluster = createLazyCommand(
  loadClusterRestore,
  (module) => module.restoreCluster,
);
export const revokeEvidence = createLazyCommand(loadEvidence, (module) => module.revokeEvidence);
export const revokeKey = createLazyCommand(loadKeys, (module) => module.revokeKey);
export const revokeNamespace = createLazyCommand(
  loadNamespaces,
  (module) => module.revokeNamespace,
);
export const rotateKey = createLazyCommand(loadKeys, (module) => module.rotateKey);
export const rotateSigningKey = createLazyCommand(loadSigning, (module) => module.rotateSigningKey);
export const rollBackKaizen = createLazyCommand(loadKaizen, (module) => module.rollBackKaizen);
export const runBackup = createLazyCommand(loadBackup, (module) => module.runBackup);
export const runCredibility = createLazyCommand(loadCredibility, (module) => module.runCredibility);
export const runDoctor = createLazyCommand(loadDoctor, (module) => module.runDoctor);
export const runExport = createLazyCommand(loadExport, (module) => module.runExport);
export const runImport = createLazyCommand(loadImport, (module) => module.runImport);
export const runKaizen = createLazyCommand(loadKaizen, (module) => module.runKaizen);
export const runMcp = createLazyCommand(loadMcp, (module) => module.runMcp);
export const runArchivePrune = createLazyCommand(loadBackup, (module) => module.runArchivePrune);
export const runQuery = createLazyCommand(loadQuery, (module) => module.runQuery);
export const runRestore = createLazyCommand(loadBackup, (module) => module.runRestore);
export const runServe = createLazyCommand(loadServe, (module) => module.runServe);
export const setKey = createLazyCommand(loadKeys, (module) => module.setKey);
export const setPolicy = createLazyCommand(loadPolicy, (module) => module.setPolicy);
export const setQuota = createLazyCommand(loadQuotas, (module) => module.setQuota);
export const showClusterStatus = createLazyCommand(
  loadClusterStatus,
  (module) => module.showClusterStatus,
);
export const showPolicy = createLazyCommand(loadPolicy, (module) => module.showPolicy);
export const showReview = createLazyCommand(loadReviews, (module) => module.showReview);
export const showRun = createLazyCommand(loadKaizen, (module) => module.showRun);
export const showKaizenStatus = createLazyCommand(loadKaizen, (module) => module.showKaizenStatus);
export const showUsage = createLazyCommand(loadUsage, (module) => module.showUsage);
export const transferNamespace = createLazyCommand(
  loadNamespaces,
  (module) => module.transferNamespace,
);
export const finishClusterUpgrade = createLazyCommand(
  loadClusterUpgradeFinish,
  (module) => module.finishClusterUpgrade,
);
export const trimClusterLog = createLazyCommand(loadClusterTrim, (module) => module.trimClusterLog);
export const testPolicy = createLazyCommand(loadPolicyTest, (module) => module.testPolicy);
export const unvouch = createLazyCommand(loadPolicy, (module) => module.unvouch);
export const vouch = createLazyCommand(loadPolicy, (module) => module.vouch);
export const listWebhooks = createLazyCommand(loadWebhooks, (module) => module.listWebhooks);
export const rebuildDailyScores = createLazyCommand(
  loadDailyScores,
  (module) => module.rebuildDailyScores,
);
export const removeWebhook = createLazyCommand(loadWebhooks, (module) => module.removeWebhook);
export const enableWebhook = createLazyCommand(loadWebhooks, (module) => module.enableWebhook);
export const disableWebhook = createLazyCommand(loadWebhooks, (module) => module.disableWebhook);
export const renewWebhookSecret = createLazyCommand(
  loadWebhooks,
  (module) => module.renewWebhookSecret,
);
export const testWebhook = createLazyCommand(loadWebhooks, (module) => module.testWebhook);
export const listWebhookDeadLetters = createLazyCommand(
  loadWebhooks,
  (module) => module.listWebhookDeadLetters,
);
export const setCondition = createLazyCommand(loadConditions, (module) => module.setCondition);
export const clearCondition = createLazyCommand(loadConditions, (module) => module.clearCondition);
export const listConditions = createLazyCommand(loadConditions, (module) => module.listConditions);
export const importConditions = createLazyCommand(
  loadConditions,
  (module) => module.importConditions,
);
export const stopAgents = createLazyCommand(loadConditions, (module) => module.stopAgents);
