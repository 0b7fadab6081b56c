// Disks of a power cut: each process has a file system of its own in an image, written past the page cache. At the
// cut the image is copied as it is; what a process had written and not synced is not in it, as on a disk
// whose power failed.
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { COUNT, KINDS, type Kind, type Stage } from "./stage.ts";

const MIB = 1024 * 1024;

export class PowerDisks {
  readonly #stage: Stage;
  readonly #bytes: number;

  constructor(stage: Stage, bytes: number) {
    this.#stage = stage;
    this.#bytes = bytes;
    mkdirSync(path.join(stage.folder, "images"), { recursive: true });
    for (const [kind, at] of everyDisk()) this.renew(kind, at);
    sh("sync");
  }

  /** An empty disk in the place of the one that was there. */
  renew(kind: Kind, at: number): void {
    const image = this.#image(kind, at);
    rmSync(image, { force: true });
    sh("truncate", "-s", `${Math.ceil(this.#bytes / MIB)}M`, image);
    sh("mkfs.ext4", "-q", "-F", image);
    this.#mount(kind, at);
  }

  /** What each disk has at this moment, beside it. The processes have just lost their power. */
  copyAll(): void {
    for (const [kind, at] of everyDisk()) {
      const image = this.#image(kind, at);
      sh("cp", "--sparse=always", image, `${image}.cut`);
    }
  }

  /** The copies in the place of the disks. */
  replaceAll(): void {
    for (const [kind, at] of everyDisk()) {
      sh("umount", "-l", this.#stage.disk(kind, at));
      const image = this.#image(kind, at);
      // Another file: what the kernel still writes to the former one changes nothing.
      renameSync(`${image}.cut`, image);
      this.#mount(kind, at);
    }
  }

  unmount(kind: Kind, at: number): void {
    sh("umount", "-l", this.#stage.disk(kind, at));
  }

  close(): void {
    for (const [kind, at] of everyDisk()) this.unmount(kind, at);
  }

  #image(kind: Kind, at: number): string {
    return path.join(this.#stage.folder, "images", `${kind}-${at}.img`);
  }

  #mount(kind: Kind, at: number): void {
    const show = ["--direct-io=on", "--find", "--show", this.#image(kind, at)];
    const loop = execFileSync("losetup", show, { encoding: "utf8" }).trim();
    try {
      sh("mount", loop, this.#stage.disk(kind, at));
    } finally {
      // Mounted, it is freed with the mount, however this process ends.
      sh("losetup", "--detach", loop);
    }
  }
}

/** Whether disks can be made of files here. */
export function mayMountImages(folder: string): boolean {
  const [image, place] = [path.join(folder, "try.img"), path.join(folder, "try")];
  mkdirSync(place, { recursive: true });
  const script = `truncate -s 16M "$1" && mkfs.ext4 -q -F "$1" && loop=$(losetup --direct-io=on --find --show "$1") &&
    { mount "$loop" "$2"; status=$?; losetup --detach "$loop"; [ $status = 0 ] && umount "$2"; }`;
  try {
    execFileSync("sh", ["-c", script, "sh", image, place], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(image, { force: true });
    rmSync(place, { recursive: true, force: true });
  }
}

function everyDisk(): [Kind, number][] {
  return KINDS.flatMap((kind) =>
    Array.from({ length: COUNT }, (_, at): [Kind, number] => [kind, at]),
  );
}

function sh(program: string, ...parameters: string[]): void {
  execFileSync(program, parameters, { stdio: ["ignore", "ignore", "inherit"] });
}
