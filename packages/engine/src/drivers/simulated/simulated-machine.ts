import { join } from 'node:path/posix'
import {
  BOUNDS,
  HearthError,
  type MemoryMode,
  type PortConnection,
  type Process,
  type ProcessInfo,
  type Stats,
  type WatchEvent,
} from '@hearth/contract'
import { assertNotAborted, onAbort } from '../../link/abort.ts'
import type { Captured, Machine, MachineEnd, MachineNetwork, ProcessSpec, WhileStill } from '../../machine/machine.ts'
import type { ChangeSource } from '../../machine/machine-changes.ts'
import { applyToTree } from '../../diff/apply-to-tree.ts'
import { TreeRoot } from '../../diff/tree-root.ts'
import type { StoredSnapshot } from '../../store/snapshot-manifest.ts'
import { captureTree } from './captured-tree.ts'
import type { MemoryTree } from './memory-tree.ts'
import { runShell, type ShellSettings } from './shell-run.ts'
import { SimulatedFiles } from './simulated-files.ts'
import { SimulatedProcess, SimulatedTask } from './simulated-process.ts'
import { onTree } from './tree-errors.ts'
import { TreeWatch } from './tree-watch.ts'

export interface SimulatedSettings extends ShellSettings {
  /** What a snapshot held; what a new sandbox has without one. */
  readonly earlier: (base: StoredSnapshot | null) => Promise<MemoryTree>
  readonly workdir: string
  readonly user: string
}

/** A computer that is a file system in memory and a shell that reads it. Nothing in it is a process of the host. */
export class SimulatedMachine implements Machine {
  readonly files: SimulatedFiles
  readonly ended: Promise<MachineEnd>
  #settings: SimulatedSettings
  readonly #end = Promise.withResolvers<MachineEnd>()
  readonly #tasks = new Map<number, SimulatedTask>()
  readonly #watches = new Set<TreeWatch>()
  readonly #startedMs = performance.now()
  #nextId = 1
  #running = true

  constructor(settings: SimulatedSettings) {
    this.#settings = settings
    this.ended = this.#end.promise
    this.files = new SimulatedFiles(settings.tree, () => this.#requireRunning())
  }

  async spawn(spec: ProcessSpec, signal?: AbortSignal): Promise<Process> {
    this.#requireRunning()
    assertNotAborted(signal)
    if (spec.pty !== null) throw new HearthError('capability_unsupported', 'the simulated rung has no terminals')
    if (spec.user !== null && spec.user !== this.#settings.user) {
      throw new HearthError('capability_unsupported', 'the simulated rung has one user', {
        context: { user: spec.user },
      })
    }
    requireBounded(spec)
    const cwd = spec.cwd ?? this.#settings.workdir
    this.#requireDirectory(cwd)
    if (typeof spec.command !== 'string') this.#requireProgram(spec.command[0] ?? '', cwd, spec.env)
    const words = typeof spec.command === 'string' ? ['/bin/sh', '-c', spec.command] : spec.command
    const task = new SimulatedTask(this.#nextId++, words, spec.stdin, spec.timeoutMs)
    this.#tasks.set(task.id, task)
    onAbort(signal, () => task.stop('SIGKILL'))
    void this.#run(task, spec, cwd)
    return new SimulatedProcess(task, 0, signal)
  }

  async attach(process: number, offset: number, signal?: AbortSignal): Promise<Process> {
    this.#requireRunning()
    assertNotAborted(signal)
    const task = this.#tasks.get(process)
    if (task === undefined) {
      throw new HearthError('process_not_found', `there is no process ${process}`, { context: { process } })
    }
    return new SimulatedProcess(task, offset, signal)
  }

  async processes(): Promise<ProcessInfo[]> {
    this.#requireRunning()
    return [...this.#tasks.values()].map((task) => task.info)
  }

  async watch(
    path: string,
    recursive: boolean,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent> & AsyncDisposable> {
    this.#requireRunning()
    assertNotAborted(signal)
    const watch = onTree(() => new TreeWatch(this.#settings.tree, path, recursive))
    this.#watches.add(watch)
    onAbort(signal, () => watch.close())
    return watch
  }

  async watchProcesses(): Promise<never> {
    throw new HearthError('capability_unsupported', 'the simulated rung has no processes')
  }

  async connect(): Promise<PortConnection> {
    throw new HearthError('capability_unsupported', 'the simulated rung has no ports')
  }

  async stats(): Promise<Stats> {
    this.#requireRunning()
    const { tree, limits } = this.#settings
    const tasks = [...this.#tasks.values()].map((task) => task.info)
    const retained = tasks.reduce((sum, task) => sum + task.outputBytes - task.oldestOffset, 0)
    return {
      memoryBytes: tree.usedBytes + retained,
      memoryLimitBytes: limits.memoryBytes,
      cpuMs: 0,
      processes: tasks.filter((task) => task.exit === null).length,
      diskUsedBytes: tree.usedBytes,
      diskLimitBytes: limits.diskBytes,
      uptimeMs: performance.now() - this.#startedMs,
    }
  }

  async openNetwork(network: MachineNetwork): Promise<void> {
    this.#settings = { ...this.#settings, network }
  }

  async setEnvironment(environment: Readonly<Record<string, string>>): Promise<void> {
    this.#settings = { ...this.#settings, environment: { ...this.#settings.environment, ...environment } }
  }

  async kill(): Promise<void> {
    if (!this.#running) return
    for (const task of this.#tasks.values()) task.stop('SIGKILL')
    for (const watch of this.#watches) watch.close()
    this.#running = false
    this.#end.resolve({ reason: 'killed', detail: 'the sandbox was killed' })
  }

  async pause(): Promise<void> {
    throw new HearthError('capability_unsupported', 'a simulated sandbox cannot be paused')
  }

  async resume(): Promise<void> {
    this.#requireRunning()
  }

  async capture(directory: string, memory: MemoryMode, still?: WhileStill): Promise<Captured> {
    this.#requireRunning()
    return await captureTree(this.#settings.tree, directory, memory, still)
  }

  readonly changes: ChangeSource = {
    kind: 'own',
    open: () => new TreeRoot({ tree: this.#settings.tree.clone(), earlier: this.#settings.earlier }),
  }

  async applyChanges(operations: AsyncIterable<Uint8Array>): Promise<void> {
    this.#requireRunning()
    await applyToTree(this.#settings.tree, operations)
  }

  /** It lives in this process, so nobody else could take it up: letting go of it is its end. */
  async release(): Promise<void> {
    await this.kill()
  }

  async #run(task: SimulatedTask, spec: ProcessSpec, cwd: string): Promise<void> {
    try {
      const stdin = await Promise.race([task.stdin, task.exited.then(() => null)])
      if (stdin === null) return
      const { id, log, aborted } = task
      const { command, env, timeoutMs, mergeOutput, policy } = spec
      const narrowed = policy !== undefined
      const { gateway } = this.#settings.network ?? {}
      if (narrowed) gateway?.narrow(id, policy)
      const invocation = { id, command, env, cwd, stdin, timeoutMs, mergeOutput, narrowed, signal: aborted }
      task.end(await runShell(this.#settings, invocation, log))
      if (narrowed) gateway?.forget(id)
    } catch (error) {
      // The shell reports what a script does wrong as an exit code; anything thrown is a defect of the shell.
      await task.log.write('stderr', Buffer.from(`shell: ${error instanceof Error ? error.message : String(error)}\n`))
      task.end(126)
    } finally {
      this.#forgetOldest()
    }
  }

  #forgetOldest(): void {
    const ended = [...this.#tasks.values()].filter((task) => task.info.exit !== null)
    for (const task of ended.slice(0, Math.max(0, ended.length - BOUNDS.retainedProcesses))) this.#tasks.delete(task.id)
  }

  #requireDirectory(cwd: string): void {
    if (this.#exists(cwd)?.kind === 'directory') return
    throw new HearthError('spawn_failed', `the working directory ${cwd} is not a directory`, { context: { cwd } })
  }

  /** A shell would give 127; a program that is started directly is either there or cannot be started. */
  #requireProgram(name: string, cwd: string, env: Readonly<Record<string, string>>): void {
    const path = env['PATH'] ?? this.#settings.environment['PATH'] ?? '/usr/bin:/bin'
    const places = name.includes('/')
      ? [join('/', cwd, name)]
      : path.split(':').map((directory) => `${directory}/${name}`)
    const absolute = name.startsWith('/') ? [name] : places
    if (name !== '' && absolute.some((place) => this.#exists(place)?.kind === 'file')) return
    throw new HearthError('spawn_failed', `ENOENT: there is no program ${name}`, { context: { program: name } })
  }

  #exists(path: string): ReturnType<SimulatedSettings['tree']['get']> | null {
    try {
      return this.#settings.tree.get(path, 'stat')
    } catch {
      // Whatever keeps the path from being resolved, it cannot be used.
      return null
    }
  }

  #requireRunning(): void {
    if (!this.#running) throw new HearthError('sandbox_ended', 'the sandbox was killed')
  }
}

/** The same bound as on the rungs where a command travels over the link. */
function requireBounded({ command, env }: ProcessSpec): void {
  const words = typeof command === 'string' ? [command] : command
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const bytes = [...words, ...variables].reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0)
  if (bytes <= BOUNDS.commandBytes) return
  throw new HearthError(
    'invalid_request',
    `the command and its environment have more than ${BOUNDS.commandBytes} bytes`,
  )
}
