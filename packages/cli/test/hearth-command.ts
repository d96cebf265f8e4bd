import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export const BINARY = join(import.meta.dirname, '../bin/hearth.js')

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly bytes: Buffer
}

/** The real binary, started as a user would, with a home of its own. */
export class HearthCommand implements AsyncDisposable {
  readonly home: string
  /** What the command finds in its environment besides. */
  readonly env: Record<string, string>

  private constructor(home: string) {
    this.home = home
    this.env = { HEARTH_HOME: home, HEARTH_URL: '', HEARTH_API_KEY: '' }
  }

  static async create(): Promise<HearthCommand> {
    return new HearthCommand(await mkdtemp(join(tmpdir(), 'hearth-cli-')))
  }

  /** Starts it; `finished` collects what it says. */
  start(args: readonly string[], program = BINARY): { child: ChildProcess; finished: Promise<Finished> } {
    const child = spawn(program, args, { env: { ...process.env, ...this.env }, stdio: 'pipe' })
    const stdout: Buffer[] = []
    let stderr = ''
    child.stdout.on('data', (data: Buffer) => stdout.push(data))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    // A command that ends before it has read everything closes the pipe; that is not the test's business.
    child.stdin.on('error', () => undefined)
    const finished = new Promise<Finished>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code) => {
        const bytes = Buffer.concat(stdout)
        resolve({ code, stdout: bytes.toString(), stderr, bytes })
      })
    })
    return { child, finished }
  }

  async run(args: readonly string[], input: string | Uint8Array = ''): Promise<Finished> {
    const { child, finished } = this.start(args)
    child.stdin?.end(input)
    return await finished
  }

  /** Runs it, expects success, and parses what it says. */
  async json<Value>(args: readonly string[], input = ''): Promise<Value> {
    const { code, stdout, stderr } = await this.run(args, input)
    if (code !== 0) throw new Error(`hearth ${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout) as Value
  }

  /** Runs it and expects success without a word on standard error. */
  async output(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args)
    if (code !== 0 || stderr !== '') throw new Error(`hearth ${args.join(' ')} ended with ${code}: ${stderr}`)
    return stdout
  }

  /** Runs it and expects a failure, which it tells as JSON. */
  async failure(...args: string[]): Promise<{ code: string; suggestion: string }> {
    const { code, stderr } = await this.run([...args, '--json'])
    if (code !== 1) throw new Error(`hearth ${args.join(' ')} ended with ${code} instead of 1: ${stderr}`)
    return (JSON.parse(stderr) as { error: { code: string; suggestion: string } }).error
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.home, { recursive: true, force: true })
  }
}

/** Waits until the command has said this on standard output. */
export async function said(child: ChildProcess, text: string): Promise<void> {
  let seen = ''
  child.stdout?.on('data', (data: Buffer) => (seen += data.toString()))
  for (let waited = 0; waited < 30_000; waited += 20) {
    if (seen.includes(text)) return
    await sleep(20)
  }
  throw new Error(`the command has not said '${text}', only '${seen}'`)
}
