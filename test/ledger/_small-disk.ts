// Real file system so small that it fills up: a tmpfs, which only root may mount.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";

/** Mounts a tmpfs, for a test that has `needs("mount a tmpfs")`. Undo with `unmount`. */
export function mountSmall(directory: string, megabytes: number): void {
  fs.mkdirSync(directory, { recursive: true });
  const size = `size=${megabytes}m`;
  execFileSync("mount", ["-t", "tmpfs", "-o", size, "tmpfs", directory], { stdio: "ignore" });
}

export function unmount(directory: string): void {
  execFileSync("umount", ["-l", directory], { stdio: "ignore" });
}

export function remountReadOnly(directory: string): void {
  execFileSync("mount", ["-o", "remount,ro", directory], { stdio: "ignore" });
}

/** Writes `path` until only `leaveBytes` are free, as another program on the disk would. */
export function fillUp(path: string, leaveBytes: number): void {
  const descriptor = fs.openSync(path, "a");
  const block = Buffer.alloc(64 * 1024);
  const free = () => {
    const { bavail, bsize } = fs.statfsSync(path);
    return bavail * bsize;
  };
  try {
    for (let left = free() - leaveBytes; left > 0; left = free() - leaveBytes) {
      fs.writeSync(descriptor, block, 0, Math.min(left, block.byteLength));
    }
  } finally {
    fs.closeSync(descriptor);
  }
}
