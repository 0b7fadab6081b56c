// The `trustrank` command where it is installed as a package: a Node that is too old is told so in
// one line, before it trips over what it does not know.

/** `findPackageJSON` and the rest of what the service takes from Node. */
const OLDEST = [22, 14] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  const found = process.versions.node;
  process.stderr.write(`trustrank: needs Node ${OLDEST.join(".")} or later, this is ${found}\n`);
  process.exitCode = 1;
} else {
  await import("./trustrank.ts");
}
