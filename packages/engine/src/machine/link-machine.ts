import { setTimeout as sleep } from 'node:timers/promises'
import {
  guestPathSchema,
  HearthError,
  parseInput,
  type Limits,
  type MemoryMode,
  type PortConnection,
  type Process,
  type ProcessInfo,
  type Stats,
} from '@hearth/contract'
import type { Link } from '../link/link.ts'
import type { Messages } from '../link/messages.gen.ts'
import { exactNumber } from '../link/wire.ts'
import { checkedInteger } from './checks.ts'
import { CommandRoots } from './command-roots.ts'
import { applyChanges, listChanges, statInside } from './link-changes.ts'
import { LinkFiles } from './link-files.ts'
import { openNetwork, setEnvironment } from './link-network.ts'
import { connectPort } from './link-port.ts'
import { linkProcesses } from './link-processes.ts'
import { watchFiles, type Watching } from './link-watch.ts'
import type { Captured, Machine, MachineEnd, MachineNetwork, ProcessSpec, WhileStill } from './machine.ts'
import type { ChangeSource } from './machine-changes.ts'
import { OomWatch } from './oom-watch.ts'
import { listProcesses } from './process-list.ts'
import { attachProcess, spawnProcess } from './process-start.ts'
import { watchProcesses, type ProcessWatch } from './process-watch.ts'

/** How long after its link the end of a machine may be noticed before it is taken for lost. */
const LOST_MS = 10_000

/** Longer than a keeper tries. */
const PAUSE_MS = 5000

const LAST_PORT = 65_535
const LAST_PROCESS = 0xffff_ffff

export interface LinkMachineOptions {
  /** Greeted and configured. */
  readonly link: Link
  /** Ends the machine and frees what the host held for it. */
  readonly kill: (cause?: 'sleep') => Promise<void>
  /** Lets go of it without ending it. */
  readonly release: () => Promise<void>
  /** Whether its keeper has stopped everything; absent where it cannot. */
  readonly isPaused?: () => boolean
  /** Writes what it is into the directory of a snapshot; absent where it cannot. */
  readonly capture?: (directory: string, memory: MemoryMode, still?: WhileStill) => Promise<Captured>
  /** Lets it go on when it stands still since a capture; nothing when it runs. */
  readonly recover?: () => Promise<void>
  /** Its files lie on a disk that only its own kernel reads. */
  readonly ownsDisk?: boolean
  /** Its kernel keeps times of files of its own. */
  readonly ownTimes?: boolean
  /** What its kernel tells of processes, where that is not the guest's to tell. */
  readonly traceProcesses?: (signal: AbortSignal) => AsyncGenerator<Uint8Array>
  /** Resolves when the machine is gone. */
  readonly ended: Promise<MachineEnd>
  /** How often the kernel has killed a process of the machine for memory. */
  readonly oomKills?: () => number
  /** What the host itself knows; it wins over what the guest says. */
  readonly hostStats?: () => Promise<Partial<Stats>>
}

/** A machine whose guest speaks on a link. */
export class LinkMachine implements Machine {
  readonly files: LinkFiles
  readonly ended: Promise<MachineEnd>
  readonly #options: LinkMachineOptions
  readonly #link: Link
  readonly #oomWatch: OomWatch
  #roots: CommandRoots | null = null
  /** It has ended, or another has it now. */
  readonly #gone = new AbortController()
  #killed: Promise<void> | null = null
  #released = false

  constructor(options: LinkMachineOptions) {
    this.#options = options
    this.#link = options.link
    this.files = new LinkFiles(options.link)
    this.#oomWatch = new OomWatch(options.oomKills)
    this.ended = this.#watchEnd()
    void this.ended.then(() => this.#gone.abort())
  }

  async spawn(spec: ProcessSpec, signal?: AbortSignal): Promise<Process> {
    const process = await spawnProcess(this.#link, this.#oomWatch, spec, signal)
    this.#roots?.note(process.pid, process.id)
    return process
  }

  async attach(process: number, offset: number, signal?: AbortSignal): Promise<Process> {
    checkedInteger(process, 0, LAST_PROCESS, 'process')
    checkedInteger(offset, 0, Number.MAX_SAFE_INTEGER, 'offset')
    return await attachProcess(this.#link, this.#oomWatch, process, offset, signal)
  }

  async processes(): Promise<ProcessInfo[]> {
    return await listProcesses(this.#link, this.#oomWatch)
  }

  async watch(path: string, recursive: boolean, signal?: AbortSignal): Promise<Watching> {
    return await watchFiles(this.#link, parseInput(guestPathSchema, path, 'path'), recursive, signal)
  }

  async watchProcesses(): Promise<ProcessWatch> {
    const { signal } = this.#gone
    const roots = (this.#roots ??= new CommandRoots())
    for (const { pid, id } of await this.processes()) roots.note(pid, id)
    const { traceProcesses } = this.#options
    return await watchProcesses(traceProcesses?.(signal) ?? linkProcesses(this.#link, signal), roots, signal)
  }

  async connect(port: number, signal?: AbortSignal): Promise<PortConnection> {
    return await connectPort(this.#link, checkedInteger(port, 1, LAST_PORT, 'port'), signal)
  }

  async stats(): Promise<Stats> {
    const [guest, host] = await Promise.all([this.#link.ask('Statistics', {}, guestStats), this.#options.hostStats?.()])
    return { ...guest, ...host }
  }

  async openNetwork(network: MachineNetwork): Promise<void> {
    await openNetwork(this.#link, network)
  }

  async setEnvironment(environment: Readonly<Record<string, string>>, limits: Limits): Promise<void> {
    await setEnvironment(this.#link, environment, limits)
  }

  async pause(): Promise<void> {
    await this.#stop('refused')
  }

  /** For a moment that nobody asked for: calls do not notice it, they only take longer. */
  async standStill(): Promise<void> {
    await this.#stop('wait')
  }

  async #stop(requests: 'refused' | 'wait'): Promise<void> {
    const { isPaused } = this.#options
    if (isPaused === undefined) throw new HearthError('capability_unsupported', 'this machine cannot be paused')
    this.#link.pause(requests)
    const until = performance.now() + PAUSE_MS
    while (!isPaused()) {
      await sleep(1)
      // Throws when the machine has ended in between; says nothing again.
      this.#link.pause(requests)
      if (performance.now() < until) continue
      this.#link.resume()
      throw new HearthError('timeout', `its processes could not be stopped within ${PAUSE_MS} ms`)
    }
  }

  async resume(): Promise<void> {
    this.#link.resume()
    await this.#options.recover?.()
    // A machine that was taken up while it was paused has not been greeted.
    if (this.#link.welcomed) await this.#link.ping()
    else await this.#link.hello()
    this.#link.tellTime()
  }

  async capture(directory: string, memory: MemoryMode, still?: WhileStill): Promise<Captured> {
    const { capture } = this.#options
    if (capture === undefined) throw new HearthError('capability_unsupported', 'this machine cannot be captured')
    return await capture(directory, memory, still)
  }

  get changes(): ChangeSource {
    const { ownsDisk, ownTimes } = this.#options
    const stat = ownTimes === true ? (path: string) => statInside(this.#link, path) : null
    if (ownsDisk !== true) return { kind: 'captured', stat }
    return { kind: 'guest', list: (question, signal) => listChanges(this.#link, question, signal) }
  }

  async applyChanges(operations: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
    await applyChanges(this.#link, operations, signal)
  }

  kill(cause?: 'sleep'): Promise<void> {
    this.#gone.abort()
    this.#killed ??= this.#options.kill(cause).finally(() => this.#link.destroy())
    return this.#killed
  }

  async release(): Promise<void> {
    this.#released = true
    this.#gone.abort()
    await this.#link.close()
    await this.#options.release()
  }

  async #watchEnd(): Promise<MachineEnd> {
    const first = await Promise.race([this.#options.ended, this.#link.ended.then(() => null)])
    if (this.#link.violation !== null) return await this.#endAs('protocol_violation', this.#link.violation)
    if (first !== null) return first
    // The link is gone without a reason: usually the machine is too, and whoever started it is about to say so.
    if (this.#released || this.#killed !== null) return await this.#options.ended
    const patience = Promise.withResolvers<null>()
    const timer = setTimeout(() => patience.resolve(null), LOST_MS)
    const end = await Promise.race([this.#options.ended, patience.promise])
    clearTimeout(timer)
    if (end !== null) return end
    return await this.#endAs('lost', 'the link to the machine broke')
  }

  async #endAs(reason: MachineEnd['reason'], detail: string): Promise<MachineEnd> {
    try {
      await this.kill()
      return { reason, detail }
    } catch (error) {
      return { reason, detail: `${detail}; and ending it failed: ${String(error)}` }
    }
  }
}

/** Limits are not the guest's to tell; the host adds those that it set. */
function guestStats(usage: Messages['Usage']): Stats {
  return {
    memoryBytes: exactNumber(usage.memoryBytes, 'memory'),
    memoryLimitBytes: 0,
    cpuMs: exactNumber(usage.cpuMicroseconds, 'processor time') / 1000,
    processes: usage.processes,
    diskUsedBytes: exactNumber(usage.diskUsedBytes, 'used disk space'),
    diskLimitBytes: exactNumber(usage.diskTotalBytes, 'disk space'),
    uptimeMs: exactNumber(usage.uptimeMilliseconds, 'uptime'),
  }
}
