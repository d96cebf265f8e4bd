import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeOnce } from '../staging/write-once.ts'
import { type CpioEntry, writeCpio } from './cpio.ts'
import type { Kernel } from './kernel.ts'

export interface Initramfs {
  readonly path: string
  readonly digest: string
}

/** The first root of a machine: the guest as /init, the kernel's modules and their order. Cached by content; see guest/protocol.md. */
export async function buildInitramfs(cache: string, kernel: Kernel, guest: string): Promise<Initramfs> {
  const archive = writeCpio(await entries(kernel, guest))
  const digest = createHash('sha256').update(archive).digest('hex')
  const path = join(cache, 'initramfs', `${digest}.cpio`)
  await writeOnce(path, archive)
  return { path, digest }
}

async function entries(kernel: Kernel, guest: string): Promise<CpioEntry[]> {
  const directories = ['dev', 'proc', 'sys', 'hearth'].map(
    (path) => ({ kind: 'directory', path, mode: 0o755 }) as const,
  )
  const modules = await Promise.all(
    [...kernel.modules, ...kernel.volumeModules].map(async (name) => ({
      name,
      content: await readFile(join(kernel.directory, name)),
    })),
  )
  return [
    ...directories,
    // The kernel opens it for /init; without it /init has no descriptors at all.
    { kind: 'device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 },
    { kind: 'file', path: 'init', mode: 0o755, content: await readFile(guest) },
    ...modules.map(({ name, content }) => ({ kind: 'file', path: `hearth/${name}`, mode: 0o644, content }) as const),
    list('hearth/modules', kernel.modules),
    list('hearth/volume-modules', kernel.volumeModules),
  ]
}

function list(path: string, names: readonly string[]): CpioEntry {
  return { kind: 'file', path, mode: 0o644, content: Buffer.from(names.map((name) => `${name}\n`).join('')) }
}
