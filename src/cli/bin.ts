// Entry of the `trustrank` command as an installed package: refuses a Node that is too old in one
// line, before a missing feature fails with a stack, and gives the service its allocator's setting.

/** `findPackageJSON` and the other features of Node that the service uses. */
const OLDEST = [22, 14] as const;

/** Arenas of the C library, which keeps freed memory apart in each: docs/operate/more-cores.md. */
const ARENAS = { MALLOC_ARENA_MAX: "2" };

/** The C library reads its setting before the program runs: the process starts anew, under the same id. */
function startWithArenas(): void {
  const { argv, env, execArgv, execPath, platform } = process;
  const isSet = env["MALLOC_ARENA_MAX"] !== undefined;
  if (argv[2] !== "serve" || platform !== "linux" || isSet || process.connected) return;
  // Node 22.14 lacks it: the service runs all the same.
  process.execve?.(execPath, [execPath, ...execArgv, ...argv.slice(1)], { ...env, ...ARENAS });
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  const found = process.versions.node;
  process.stderr.write(`trustrank: needs Node ${OLDEST.join(".")} or later, this is ${found}\n`);
  process.exitCode = 1;
} else {
  startWithArenas();
  await import("./trustrank.ts");
}
