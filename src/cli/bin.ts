// Entry of the `trustrank` command as an installed package: refuses a Node that is too old in one
// line, before a missing feature fails with a stack.

/** `findPackageJSON` and the other features of Node that the service uses. */
const OLDEST = [22, 14] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  const found = process.versions.node;
  process.stderr.write(`trustrank: needs Node ${OLDEST.join(".")} or later, this is ${found}\n`);
  process.exitCode = 1;
} else {
  await import("./trustrank.ts");
}
