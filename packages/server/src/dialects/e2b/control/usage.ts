import type { Sandbox } from '@hearth/contract'

interface Sample {
  readonly at: number
  readonly cpuMs: number
}

/** What a sandbox uses now, in E2B's units. */
export interface UsageNow {
  readonly at: Date
  readonly cpuCount: number
  readonly cpuUsedPct: number
  readonly memUsed: number
  readonly memTotal: number
  readonly diskUsed: number
  readonly diskTotal: number
}

/** Processor use is a difference: each look remembers what the last one saw. */
export class Usage {
  readonly #samples = new WeakMap<Sandbox, Sample>()

  async of(sandbox: Sandbox): Promise<UsageNow> {
    const stats = await sandbox.stats()
    const now = Date.now()
    const before = this.#samples.get(sandbox) ?? { at: now - stats.uptimeMs, cpuMs: 0 }
    this.#samples.set(sandbox, { at: now, cpuMs: stats.cpuMs })
    const cpuCount = Math.max(1, Math.ceil(sandbox.info.limits.cpus))
    const used = (stats.cpuMs - before.cpuMs) / Math.max(1, now - before.at)
    return {
      at: new Date(now),
      cpuCount,
      cpuUsedPct: Math.round(Math.min(100, Math.max(0, (used / cpuCount) * 100)) * 100) / 100,
      memUsed: stats.memoryBytes,
      memTotal: stats.memoryLimitBytes,
      diskUsed: stats.diskUsedBytes,
      diskTotal: stats.diskLimitBytes,
    }
  }
}
