import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readMounts } from '../mount-table.ts'

const PATH = '/usr/sbin:/usr/bin:/sbin:/bin'

export const canMountBtrfs =
  process.getuid?.() === 0 &&
  existsSync('/dev/loop-control') &&
  ['/sbin', '/usr/sbin'].some((folder) => existsSync(join(folder, 'mkfs.btrfs')))

/** A btrfs in a temporary file, as another disk of a host would be. */
export class NativeBtrfs implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'hearth-native-'))
  readonly #image = join(this.folder, 'disk')

  constructor(size: string) {
    this.run('truncate', '--size', size, this.#image)
    this.run('mkfs.btrfs', '--quiet', this.#image)
  }

  /** Mounts all of it. */
  mount(target: string): string {
    return this.#mount('loop', this.#image, target)
  }

  /** Mounts it, or a subvolume of it, a second time. */
  mountAgain(target: string, options = 'defaults'): string {
    const device = this.run('losetup', '--noheadings', '--output', 'NAME', '--associated', this.#image).trim()
    return this.#mount(options, device, target)
  }

  #mount(options: string, source: string, target: string): string {
    mkdirSync(target, { recursive: true })
    this.run('mount', '-o', options, source, target)
    return target
  }

  /** Until they have counted, which they do for a moment after they are enabled, limits are not kept. */
  enableQuotas(path: string): void {
    this.run('btrfs', 'quota', 'enable', path)
    this.run('btrfs', 'quota', 'rescan', '-w', path)
  }

  /** Lazily: a sandbox that another test starts meanwhile holds on to every mount that it was started among. */
  async unmount(): Promise<void> {
    const targets = (await readMounts()).map(({ target }) => target)
    for (const target of targets.toReversed())
      if (target.startsWith(`${this.folder}/`)) this.run('umount', '--lazy', target)
  }

  run(program: string, ...words: readonly string[]): string {
    return execFileSync(program, words, { env: { PATH }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unmount()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
