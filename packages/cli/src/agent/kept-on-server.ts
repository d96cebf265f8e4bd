import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { workOn, type AgentResult, type AgentRun, type KeptOptions } from '@hearth/agent'
import { newId } from '@hearth/contract'
import type { Hearth, RunLease } from '@hearth/sdk'
import { isGone, staysWithFiles } from './rescued-files.ts'
import { stateDirectoryOf, sweepStates, touchState } from './run-states.ts'

/** Unlike every other process that could work on a run. */
export function ownerName(): string {
  const host = hostname().replaceAll(/[^\x21-\x7e]/g, '-')
  return `${host.slice(0, 100)}:${process.pid}:${newId('p')}`
}

/**
 * Works on a run of the server to its end, then ends its sandbox, except when the work could not be had out of it. One that was left to another, or cannot be written down, keeps its sandbox for
 * whoever goes on; its deadline is the backstop.
 */
export async function workOnServer(
  hearth: Hearth,
  lease: RunLease,
  sandbox: string | null,
  begin: (options: KeptOptions & { readonly stateDirectory: string }) => Promise<AgentRun>,
): Promise<AgentResult> {
  const stateDirectory = stateDirectoryOf(lease.run)
  await touchState(stateDirectory)
  let workdir = ''
  const result = await workOn({ keeper: hearth.runs, lease }, async (kept) => {
    const run = await begin({ ...kept, stateDirectory })
    workdir = run.workdir
    return run
  })
  if (sandbox !== null) {
    const stays = !result.diff.available && (await staysWithFiles(hearth, lease.run, sandbox, workdir))
    if (!stays) await endSandbox(hearth, sandbox)
  }
  await rm(stateDirectory, { recursive: true, force: true })
  await sweepStates()
  return result
}

async function endSandbox(hearth: Hearth, id: string): Promise<void> {
  try {
    await (await hearth.get(id)).kill()
  } catch (error) {
    if (!isGone(error)) throw error
  }
}
