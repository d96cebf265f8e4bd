import { readFile, writeFile } from 'node:fs/promises'
import { search as trySeveral, type Candidate, type SearchReport } from '@hearth/agent'
import { HearthError, type Sandbox } from '@hearth/contract'
import { onLocal } from '../../copy/local-failure.ts'
import { interruptible } from '../../interruptible.ts'
import { progressLine } from '../../output/search-progress.ts'
import { candidateView, reportJson } from '../../output/search-view.ts'
import { printable } from '../../output/printable.ts'
import { Progress } from '../../output/progress.ts'
import { table } from '../../output/table.ts'
import { write, writeJson } from '../../output/write.ts'
import { findSandbox } from '../../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../../server/with-server.ts'
import { withBase, WORKDIR, type BaseOptions } from './base.ts'
import { judgingOf, type JudgingOptions } from './judging.ts'

export interface SearchCommandOptions extends BaseOptions, JudgingOptions, ServerOptions {
  readonly try?: readonly string[]
  readonly sandbox?: string
  readonly diff?: string
}

/** What makes a machine, and so says nothing about one that is there. */
const MAKING = [
  'repo',
  'from',
  'prepare',
  'rung',
  'atLeast',
  'template',
  'env',
  'user',
  'memory',
  'cpus',
  'pids',
  'disk',
  'meta',
  'allow',
  'preset',
  'policy',
] as const

/** Judges patches and commands in clean forks of one machine. Returns 0 with a winner and 1 without one. */
export async function search(patches: readonly string[], options: SearchCommandOptions): Promise<number> {
  const candidates = [
    ...(await Promise.all(patches.map(async (name) => ({ name, patch: await onLocal(name, () => readFile(name)) })))),
    ...(options.try ?? []).map((command) => ({ name: command, command })),
  ]
  if (candidates.length === 0) {
    throw new HearthError('invalid_request', 'there is nothing to try', {
      suggestion: 'Name files with patches, or commands with --try.',
    })
  }
  return await interruptible(async (signal) => {
    const preparing = (command: string): void => {
      if (options.json !== true && options.quiet !== true) process.stderr.write(`preparing: ${printable(command)}\n`)
    }
    const work = async (base: Sandbox, workdir: string): Promise<SearchReport> =>
      await judged(base, workdir, candidates, options, signal)
    const report =
      options.sandbox === undefined
        ? await withBase({ ...options, preparing }, signal, work)
        : await onServer(options.sandbox, options, signal, work)
    await show(report, options)
    // What there was has been given; the exit code is that of the signal.
    signal.throwIfAborted()
    return report.winner === null ? 1 : 0
  })
}

async function onServer(
  name: string,
  options: SearchCommandOptions,
  signal: AbortSignal,
  work: (base: Sandbox, workdir: string) => Promise<SearchReport>,
): Promise<SearchReport> {
  const [wrong] = MAKING.filter((option) => options[option] !== undefined)
  if (wrong !== undefined) {
    throw new HearthError(
      'invalid_request',
      `--sandbox is there already: --${wrong === 'atLeast' ? 'at-least' : wrong} would make another one`,
    )
  }
  return await withServer(options, async (hearth) => {
    const base = await findSandbox(hearth, name, signal)
    return await work(base, options.workdir ?? WORKDIR)
  })
}

async function judged(
  base: Sandbox,
  workdir: string,
  candidates: readonly Candidate[],
  options: SearchCommandOptions,
  signal: AbortSignal,
): Promise<SearchReport> {
  using progress = new Progress(options.quiet === true || options.json === true)
  return await trySeveral({
    ...judgingOf(options),
    base,
    workdir,
    candidates,
    signal,
    onProgress: (event) => {
      const line = event.type === 'attempting' ? `attempting ${printable(event.name)}` : progressLine(event)
      if (line !== null) progress.say(line)
    },
  })
}

async function show(report: SearchReport, options: SearchCommandOptions): Promise<void> {
  const { diff: file } = options
  const { winner } = report
  await showReport(report, options)
  // After the report: a file that cannot be written must not take it away.
  if (file !== undefined && winner !== null) await onLocal(file, async () => await writeFile(file, winner.patch))
}

async function showReport(report: SearchReport, options: SearchCommandOptions): Promise<void> {
  const { winner, candidates, reason } = report
  if (options.json === true) return await writeJson(reportJson(report))
  if (options.quiet === true) return await write(process.stdout, winner === null ? '' : `${printable(winner.name)}\n`)
  const view = candidateView(report)
  const rows = table([view.header, ...candidates.map((candidate) => view.row(candidate))])
  const end = winner === null ? printable(reason) : `winner: ${printable(winner.name)}, ${printable(reason)}`
  await write(process.stdout, `${rows}${end}\n`)
}
