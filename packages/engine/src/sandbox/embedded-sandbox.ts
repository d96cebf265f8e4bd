import {
  execOptionsSchema,
  guestPathSchema,
  HearthError,
  parseInput,
  spawnOptionsSchema,
  type CodeResult,
  type Command,
  type DiffOptions,
  type ExecOptions,
  type ExecResult,
  type Files,
  type ForkResult,
  type MemoryOutcome,
  type MergeOptions,
  type Policy,
  type Port,
  type Process,
  type RunCodeOptions,
  type Sandbox,
  type SandboxId,
  type SandboxInfo,
  type SleepOptions,
  type SpawnOptions,
} from '@hearth/contract'
import { z } from 'zod'
import type { Capabilities } from '../drivers/driver.ts'
import { inBackground } from '../host/in-background.ts'
import type { Machine, MachineEnd } from '../machine/machine.ts'
import type { ChangeSource } from '../machine/machine-changes.ts'
import type { Capturable, Captures, EngineForkOptions, EngineSnapshotOptions } from './captures.ts'
import { CodeContexts } from './code-contexts.ts'
import { collectOutput } from './collect-output.ts'
import { commandTimeMs } from './command-time.ts'
import { Deadline, ttlSchema } from './deadline.ts'
import type { EmbeddedSandboxOptions, SandboxOwner } from './embedded-options.ts'
import { feed } from './feed-input.ts'
import { processSpec } from './process-spec.ts'
import { processWatcher } from './process-watcher.ts'
import { requireNarrowing } from './require-narrowing.ts'
import { requireThere } from './require-there.ts'
import { portSchema, SandboxPort } from './sandbox-port.ts'
import type { SandboxNetwork } from './sandbox-network.ts'
import type { UnownedRecord } from './sandbox-record.ts'
import { Turns } from './turns.ts'

/** A sandbox in this process: the contract's interface over a machine. */
export class EmbeddedSandbox implements Sandbox {
  readonly id: SandboxId
  readonly files: Files
  /** What its rung can do here. */
  readonly capabilities: Capabilities
  /** Resolves once, when the machine is gone, also when it is killed. Never after a release. */
  readonly ended: Promise<MachineEnd>
  /** Whether the processes of the snapshot that it was made of go on in it. Null for a template, and when it was adopted. */
  readonly restored: MemoryOutcome | null
  /** What programs its processes execute, and how they end. Only with the capability `processRecord`. */
  readonly watchProcesses: Machine['watchProcesses']
  readonly #machine: Machine
  readonly #owner: SandboxOwner
  readonly #contexts: CodeContexts
  readonly #deadline: Deadline
  readonly #captures: Captures
  readonly network: SandboxNetwork
  /** Of pauses, resumes, captures and other policies. */
  readonly #turns = new Turns(() => requireThere(this.#info))
  #record: UnownedRecord
  #paused: boolean
  #info: SandboxInfo

  constructor(options: EmbeddedSandboxOptions) {
    const { record, machine, capabilities, owner, captures, paused, interpreters } = options
    this.#record = record
    this.network = options.network
    this.restored = options.restored
    this.#info = record.info
    this.capabilities = capabilities
    this.#captures = captures
    this.#paused = paused
    this.#machine = machine
    this.#owner = owner
    this.id = record.info.id
    this.files = machine.files
    this.watchProcesses = processWatcher(machine, capabilities, record.info.driver, () => this.#requireRunning())
    this.#contexts = new CodeContexts(this, capabilities, interpreters, owner)
    this.#deadline = new Deadline(record.info.expiresAt, () => this.kill(), owner.onProblem)
    this.ended = machine.ended
    void machine.ended.then(() => {
      this.#deadline.cancel()
      if (this.#info.state !== 'hibernated') this.#info = { ...this.#info, state: 'ended' }
    })
  }

  get info(): SandboxInfo {
    return this.#info
  }

  /** What was written down about it, as it is now. */
  get record(): UnownedRecord {
    return { ...this.#record, info: this.#info }
  }

  async exec(command: Command, options: ExecOptions = {}): Promise<ExecResult> {
    const { input, maxOutputBytes, ...rest } = parseInput(execOptionsSchema, options, 'options')
    const timeoutMs = commandTimeMs(this.#info.limits, rest.timeoutMs)
    const process = await this.#start(command, { ...rest, timeoutMs, stdin: input === undefined ? 'none' : 'pipe' })
    if (input !== undefined) {
      void inBackground(`the input of a command in ${this.id}`, () => feed(process, input), this.#owner.onProblem)
    }
    return await collectOutput(process, maxOutputBytes ?? this.#info.limits.outputBytes)
  }

  async spawn(command: Command, options: SpawnOptions = {}): Promise<Process> {
    return await this.#start(command, parseInput(spawnOptionsSchema, options, 'options'))
  }

  async #start(command: Command, options: z.output<typeof spawnOptionsSchema>): Promise<Process> {
    this.#requireRunning()
    const spec = processSpec(command, options)
    const { policy } = options
    if (policy !== undefined) {
      requireNarrowing(this.capabilities, this.#info.driver)
      await this.#turns.take(() => this.network.expect(this.#machine, policy))
    }
    return await this.#machine.spawn(spec, options.signal)
  }

  async attach(process: number, options: { offset?: number; signal?: AbortSignal } = {}): Promise<Process> {
    this.#requireRunning()
    const offset = parseInput(z.int().min(0), options.offset ?? 0, 'offset')
    return await this.#machine.attach(parseInput(z.int().min(1), process, 'process'), offset, options.signal)
  }

  async processes(): ReturnType<Sandbox['processes']> {
    this.#requireRunning()
    return await this.#machine.processes()
  }

  async runCode(code: string, options: RunCodeOptions = {}): Promise<CodeResult> {
    this.#requireRunning()
    return await this.#contexts.run(code, options, this.#info.limits)
  }

  async watch(...[path, options = {}]: Parameters<Sandbox['watch']>): ReturnType<Sandbox['watch']> {
    this.#requireRunning()
    const checked = parseInput(guestPathSchema, path, 'path')
    return await this.#machine.watch(checked, options.recursive ?? false, options.signal)
  }

  port(port: number): Port {
    return new SandboxPort(parseInput(portSchema, port, 'port'), this.#machine)
  }

  async stats(): ReturnType<Sandbox['stats']> {
    this.#requireRunning()
    const stats = await this.#machine.stats()
    return { ...stats, memoryLimitBytes: this.#info.limits.memoryBytes, diskLimitBytes: this.#info.limits.diskBytes }
  }

  async renew(ttlMs: number): Promise<SandboxInfo> {
    return await this.expireAt(new Date(Date.now() + parseInput(ttlSchema, ttlMs, 'ttlMs')))
  }

  /** Moves the deadline to this time; also of a paused sandbox. */
  async expireAt(expiresAt: Date): Promise<SandboxInfo> {
    requireThere(this.#info)
    const renewed = { ...this.#info, expiresAt }
    this.#owner.changed({ ...this.#record, info: renewed })
    this.#info = renewed
    this.#deadline.move(expiresAt)
    return renewed
  }

  /** What it may reach from now on. Connections that are no longer allowed are closed. */
  setPolicy(policy: Policy): Promise<void> {
    return this.#turns.take(async () => {
      this.#requireRunning()
      this.network.setPolicy(policy)
      this.#record = { ...this.#record, network: { ...this.#record.network, policy } }
      this.#owner.changed(this.record)
      await this.network.tell(this.#machine)
    })
  }

  /** True between a pause and its resume. Every call that reaches into it is then refused with `sandbox_paused`. */
  get paused(): boolean {
    return this.#paused
  }

  /** Stops all processes where they are. Deadlines go on. Idempotent. */
  pause(): Promise<void> {
    return this.#turns.take(async () => {
      if (this.#paused) return
      if (!this.capabilities.pause)
        throw new HearthError('capability_unsupported', `${this.#info.driver} cannot pause a sandbox`)
      await this.#machine.pause()
      this.#paused = true
    })
  }

  /** Resolves when it answers again. Idempotent. */
  resume(): Promise<void> {
    return this.#turns.take(async () => {
      if (!this.#paused) return
      await this.#machine.resume()
      this.#paused = false
      await this.network.resumed(this.#machine)
    })
  }

  async snapshot(options: EngineSnapshotOptions = {}): ReturnType<Sandbox['snapshot']> {
    return await this.#captures.snapshot(this, options)
  }

  async fork(count: number, options: EngineForkOptions = {}): Promise<ForkResult<EmbeddedSandbox>> {
    return await this.#captures.fork(this, count, options)
  }

  async hibernate(options: SleepOptions = {}): Promise<MemoryOutcome> {
    return await this.#captures.hibernate(this, options)
  }

  async diff(options: DiffOptions = {}): ReturnType<Sandbox['diff']> {
    return await this.#captures.comparisons.diff(this, options)
  }

  async merge(child: EmbeddedSandbox, options: MergeOptions = {}): ReturnType<Sandbox['merge']> {
    return await this.#captures.comparisons.merge(this, child, options)
  }

  get changes(): ChangeSource {
    // Files that lie on the host are there also while it is paused.
    if (this.#machine.changes.kind !== 'captured') this.#requireRunning()
    return this.#machine.changes
  }

  async applyChanges(operations: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
    this.#requireRunning()
    await this.#machine.applyChanges(operations, signal)
  }

  capture(...wanted: Parameters<Capturable['capture']>): ReturnType<Capturable['capture']> {
    return this.#turns.take(() => this.#capture(...wanted))
  }

  async #capture(...wanted: Parameters<Capturable['capture']>): ReturnType<Capturable['capture']> {
    if (!this.capabilities.snapshots)
      throw new HearthError('capability_unsupported', `${this.#info.driver} cannot capture a sandbox`)
    return await this.#contexts.still(async (interpreters) => ({
      ...(await this.#machine.capture(...wanted)),
      interpreters,
    }))
  }

  /** Ends its machine once `work` has written down all that it is; from the capture on nothing happens in it, and when `work` fails it goes on. */
  sleep<Value>(work: (capture: Capturable['capture']) => Promise<Value>): Promise<Value> {
    return this.#turns.take(async () => {
      const pauses = this.capabilities.pause && !this.#paused
      const before = this.#paused
      if (pauses) await this.#machine.pause()
      this.#paused = true
      let value: Value
      try {
        value = await work((directory, memory, still) => this.#capture(directory, memory, { ...still, stays: true }))
      } catch (error) {
        this.#paused = before
        if (pauses) await this.#machine.resume()
        throw error
      }
      this.#deadline.cancel()
      this.#info = { ...this.#info, state: 'hibernated' }
      // What is left of its machine is removed before it wakes: it sleeps, whatever becomes of that.
      const end = (): Promise<void> => this.#machine.kill('sleep')
      await inBackground(`ending the machine of ${this.id}, which sleeps`, end, this.#owner.onProblem)
      return value
    })
  }

  async kill(): Promise<void> {
    this.#deadline.cancel()
    await this.#machine.kill()
    await this.#owner.ended()
  }

  /** Lets go of it without ending it; it lives on until its deadline or until somebody adopts it. */
  async release(): Promise<void> {
    this.#deadline.cancel()
    this.#owner.released()
    await this.#machine.release()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }

  #requireRunning(): void {
    requireThere(this.#info)
    if (this.#paused) throw new HearthError('sandbox_paused', `sandbox ${this.id} is paused`)
  }
}
