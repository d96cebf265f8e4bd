import type {
  CodeResult,
  Command,
  DiffOptions,
  ExecOptions,
  ExecResult,
  FileChange,
  ForkOptions,
  ForkResult,
  MemoryOutcome,
  MergeOptions,
  MergeResult,
  Policy,
  PolicyView,
  Process,
  ProcessInfo,
  ProcessView,
  RunCodeOptions,
  Sandbox,
  SandboxId,
  SandboxInfo,
  SandboxView,
  SleepOptions,
  SnapshotInfo,
  SnapshotOptions,
  SpawnOptions,
  Stats,
} from '@hearth/contract'
import { checkedInteger, itemsOf } from '../checks.ts'
import { RemoteFiles } from '../files/remote-files.ts'
import { hasCode } from '../hearth-error.ts'
import { RemotePort } from '../ports/remote-port.ts'
import { execCommand } from '../processes/exec.ts'
import { attachProcess, spawnProcess } from '../processes/start-process.ts'
import {
  diffSandbox,
  forkSandbox,
  mergeSandbox,
  relativesOf,
  takeSnapshot,
  type KeyedOptions,
  type Relative,
} from '../snapshots/copy-calls.ts'
import type { CallOptions } from '../transport/http-client.ts'
import { SandboxClient, type Connection } from './sandbox-client.ts'
import { sandboxDetails, sandboxInfo, type SandboxDetails } from './sandbox-details.ts'
import { watchFiles, type Watching } from './watch.ts'

/** A sandbox on a server: the same interface as the embedded one, and what a server can do besides. */
export class RemoteSandbox implements Sandbox {
  readonly id: SandboxId
  readonly files: RemoteFiles
  readonly #client: SandboxClient
  #details: SandboxDetails

  constructor(view: SandboxView, connection: Connection) {
    this.#details = sandboxDetails(view)
    this.id = this.#details.id
    this.#client = new SandboxClient(this.id, connection)
    this.files = new RemoteFiles(this.#client)
  }

  /** As it was when the server last told it; its end is also known from its deadline, or from a call that was refused. */
  get info(): SandboxInfo {
    const { expiresAt } = this.#details
    const isOver = expiresAt !== null && expiresAt.getTime() <= this.#client.connection.http.serverTime()
    return sandboxInfo(this.#details, isOver || this.#client.ended)
  }

  /** The same with the exact state. `refresh` asks anew. */
  get details(): SandboxDetails {
    return this.#details
  }

  async exec(command: Command, options: ExecOptions = {}): Promise<ExecResult> {
    const { outputBytes } = this.#details.limits
    return await execCommand({ client: this.#client, command, options, outputBytes })
  }

  async spawn(command: Command, options: SpawnOptions = {}): Promise<Process> {
    return await spawnProcess(this.#client, command, options)
  }

  async attach(
    process: number,
    options: { readonly offset?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Process> {
    return await attachProcess(this.#client, process, options)
  }

  async processes(options: CallOptions = {}): Promise<ProcessInfo[]> {
    const { signal } = options
    const items = itemsOf<ProcessView>(await this.#client.json({ method: 'GET', path: '/processes', signal }))
    return items.map((view) => ({ ...view, startedAt: new Date(view.startedAt) }))
  }

  /** Signals the group of a process, or with `tree` kills all that it started. Whoever reads its output is not disturbed. */
  async signalProcess(
    process: number,
    name = 'SIGTERM',
    options: { readonly tree?: boolean } & CallOptions = {},
  ): Promise<void> {
    const path = `/processes/${checkedInteger(process, 1, Number.MAX_SAFE_INTEGER, 'process')}/signal`
    const json = { signal: name, tree: options.tree === true }
    await this.#client.done({ method: 'POST', path, json, signal: options.signal })
  }

  async runCode(code: string, options: RunCodeOptions = {}): Promise<CodeResult> {
    const { signal, onEvent, ...rest } = options
    const json = { code, ...rest }
    const result = await this.#client.json<CodeResult>({ method: 'POST', path: '/code', json, signal, timeoutMs: null })
    for (const stream of ['stdout', 'stderr'] as const) {
      if (result[stream] !== '') onEvent?.({ type: 'output', stream, text: result[stream] })
    }
    for (const display of result.displays) onEvent?.({ type: 'display', display })
    return result
  }

  async watch(
    path: string,
    options: { readonly recursive?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<Watching> {
    return await watchFiles(this.#client, path, options)
  }

  port(port: number): RemotePort {
    return new RemotePort(checkedInteger(port, 1, 65_535, 'port'), this.#client)
  }

  async stats(options: CallOptions = {}): Promise<Stats> {
    return await this.#client.json<Stats>({ method: 'GET', path: '/stats', signal: options.signal })
  }

  async renew(ttlMs: number, options: CallOptions = {}): Promise<SandboxInfo> {
    return await this.#change('/renew', { ttlMs }, options)
  }

  /** Freezes everything in it. The next call into it wakes it. */
  async pause(options: CallOptions = {}): Promise<SandboxInfo> {
    return await this.#change('/pause', {}, options)
  }

  async resume(options: CallOptions = {}): Promise<SandboxInfo> {
    return await this.#change('/resume', {}, options)
  }

  /** Writes it down and ends its machine. The next call into it wakes it; its processes go on then where memory was captured. */
  async hibernate(options: SleepOptions & CallOptions = {}): Promise<MemoryOutcome> {
    const { signal: _signal, ...json } = options
    await this.#change('/hibernate', json, options)
    const { memory = false, reason = '' } = this.#details.hibernation ?? {}
    return memory ? { memory, reason: null } : { memory, reason: reason ?? '' }
  }

  /** As the next call would do it. `memory: 'none'` wakes it with its files alone. */
  async wake(options: SleepOptions & CallOptions = {}): Promise<SandboxInfo> {
    const { signal: _signal, ...json } = options
    return await this.#change('/wake', json, options)
  }

  /** Ends everything in it, its disk too. Other than after `kill` the server still tells of it for a while. */
  async stop(options: CallOptions = {}): Promise<SandboxInfo> {
    return await this.#change('/stop', {}, options)
  }

  /** What it may reach, with presets written out, and the secrets that it uses. */
  async policy(options: CallOptions = {}): Promise<PolicyView> {
    return await this.#client.json<PolicyView>({ method: 'GET', path: '/policy', signal: options.signal })
  }

  /** From now on; connections that it does not allow end. */
  async setPolicy(policy: Policy, options: CallOptions = {}): Promise<PolicyView> {
    const { signal } = options
    return await this.#client.json<PolicyView>({
      method: 'PUT',
      path: '/policy',
      json: policy,
      signal,
      timeoutMs: null,
    })
  }

  /** Captures it as it is now; it goes on. The snapshot outlives it. */
  async snapshot(options: SnapshotOptions & KeyedOptions = {}): Promise<SnapshotInfo> {
    return await takeSnapshot(this.#client, options)
  }

  /** Copies of it as it is now. All of them, or an error and none; it goes on in any case. */
  async fork(count: number, options: ForkOptions & KeyedOptions = {}): Promise<ForkResult<RemoteSandbox>> {
    const { children, memory, reason, pausedMs } = await forkSandbox(this.#client, count, options)
    const made = children.map((view) => new RemoteSandbox(view, this.#client.connection))
    if (memory) return { memory, reason: null, children: made, pausedMs }
    return { memory, reason: reason ?? '', children: made, pausedMs }
  }

  /** What changed in its files. */
  async diff(options: DiffOptions = {}): Promise<FileChange[]> {
    return await diffSandbox(this.#client, options)
  }

  /** Brings what a fork of it changed back into it, three-way; with any conflict nothing is done. */
  async merge(child: Pick<RemoteSandbox, 'id'>, options: MergeOptions = {}): Promise<MergeResult> {
    return await mergeSandbox(this.#client, child.id, options)
  }

  /** All sandboxes that are related to it by forks, itself too, oldest first. */
  async tree(options: CallOptions = {}): Promise<Relative[]> {
    return await relativesOf(this.#client, options)
  }

  /** Asks the server how it is. */
  async refresh(options: CallOptions = {}): Promise<SandboxInfo> {
    const view = await this.#client.json<SandboxView>({ method: 'GET', path: '', signal: options.signal })
    this.#details = sandboxDetails(view)
    return this.info
  }

  async kill(options: CallOptions = {}): Promise<void> {
    if (this.#client.ended) return
    try {
      await this.#client.done({ method: 'DELETE', path: '', repeatable: true, signal: options.signal })
    } catch (error) {
      // It is not there, which is what was wanted.
      if (!hasCode(error, 'sandbox_ended')) throw error
    }
    this.#client.markEnded()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  async #change(path: string, json: object, { signal }: CallOptions): Promise<SandboxInfo> {
    this.#details = sandboxDetails(await this.#client.json<SandboxView>({ method: 'POST', path, json, signal }))
    return this.info
  }
}
