import { constants } from 'node:os'
import { HearthError, type ProcessInfo } from '@hearth/sdk'
import { presentList, type View } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { formatBytes } from '../output/table.ts'
import { formatAge } from '../output/time.ts'
import { write, writeJson } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

const processView: View<ProcessInfo> = {
  header: ['PROCESS', 'PID', 'STATE', 'AGE', 'OUTPUT', 'COMMAND'],
  id: ({ id }) => String(id),
  row: (info) => [
    String(info.id),
    String(info.pid),
    stateText(info),
    formatAge(info.startedAt),
    formatBytes(info.outputBytes),
    printable(info.command.join(' ')).slice(0, 200),
  ],
}

export async function listProcesses(name: string, options: ServerOptions & { all?: boolean }): Promise<number> {
  const found = await withServer(options, async (hearth) => await (await findSandbox(hearth, name)).processes())
  const shown = options.all === true ? found : found.filter(({ exit }) => exit === null)
  await presentList(options, shown, processView)
  return 0
}

function stateText({ exit }: ProcessInfo): string {
  if (exit === null) return 'running'
  if (exit.timedOut) return 'timed out'
  if (exit.oom) return 'out of memory'
  return exit.signal ?? `exit ${exit.exitCode}`
}

/** Signals processes of one sandbox. SIGKILL is for all that they started, too. */
export async function killProcesses(
  name: string,
  processes: readonly number[],
  options: ServerOptions & { signal?: string },
): Promise<number> {
  const signal = signalName(options.signal ?? 'SIGTERM')
  await withServer(options, async (hearth) => {
    const sandbox = await findSandbox(hearth, name)
    for (const process of processes) await sandbox.signalProcess(process, signal, { tree: signal === 'SIGKILL' })
    const done = processes.map((process) => ({ sandbox: sandbox.id, process, signal }))
    if (options.json === true) await writeJson(done.length === 1 ? done[0] : done)
  })
  if (options.json !== true) await write(process.stdout, processes.map((id) => `${id}\n`).join(''))
  return 0
}

/** `9`, `kill`, `KILL` and `SIGKILL` are the same. */
function signalName(text: string): string {
  const wanted = text.toUpperCase().replace(/^(?!SIG|\d)/, 'SIG')
  const found = Object.entries(constants.signals).find(([name, number]) => name === wanted || String(number) === wanted)
  if (found !== undefined) return found[0]
  throw new HearthError('invalid_request', `${JSON.stringify(text)} is not a signal`, {
    suggestion: 'Give a name such as INT, TERM, HUP or KILL, or a number.',
  })
}
