import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HostPaths } from '../host/host.ts'
import type { Probe } from './driver.ts'
import { Remembered } from '../host/remembered.ts'

/** Directories whose change means that programs were installed or removed. */
const PROGRAM_DIRECTORIES = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin']
const KEPT_MS = 24 * 3_600_000
/** Raised when a probe says something else of the same host. */
const FORMAT = 4

/**
 * Remembers that a driver works, so that a short-lived command need not try it again. Only a success is kept, and only
 * until the machine restarts, programs are installed or removed, the guest is rebuilt, or a day has passed.
 */
export class ProbeCache {
  readonly #paths: HostPaths
  readonly #key = new Remembered(() => this.#computeKey())

  constructor(paths: HostPaths) {
    this.#paths = paths
  }

  async get(driver: string): Promise<Probe | null> {
    try {
      const entry = JSON.parse(await readFile(await this.#file(driver), 'utf8')) as { at: number; probe: Probe }
      return Date.now() - entry.at < KEPT_MS ? entry.probe : null
    } catch {
      // There is none, or it cannot be read: it is tried again, which says the same.
      return null
    }
  }

  async put(driver: string, probe: Probe): Promise<void> {
    const file = await this.#file(driver)
    if (!probe.available) return await rm(file, { force: true })
    await mkdir(join(this.#paths.cache, 'probes'), { recursive: true, mode: 0o700 })
    await writeFile(`${file}.${process.pid}`, JSON.stringify({ at: Date.now(), probe }))
    await rename(`${file}.${process.pid}`, file)
  }

  async #file(driver: string): Promise<string> {
    return join(this.#paths.cache, 'probes', `${driver}-${await this.#key.get()}.json`)
  }

  async #computeKey(): Promise<string> {
    const bootId = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
    const times = await Promise.all([this.#paths.guest, ...PROGRAM_DIRECTORIES].map(modified))
    const facts = [FORMAT, bootId, process.getuid?.(), process.env['PATH'], process.env['DOCKER_HOST'], ...times]
    return createHash('sha256').update(facts.join('\n')).digest('hex').slice(0, 20)
  }
}

async function modified(path: string): Promise<string> {
  const found = await stat(path).catch(() => null)
  return found === null ? 'absent' : `${found.mtimeMs} ${found.size}`
}
