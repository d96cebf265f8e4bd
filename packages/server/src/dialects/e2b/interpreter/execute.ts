import type { IncomingMessage, ServerResponse } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import { HearthError, type CodeEvent, type CodeResult, type Sandbox } from '@hearth/contract'
import type { HttpLimits } from '../../../http/limits.ts'
import { LONGEST_COMMAND_MS } from '../../command-time.ts'
import type { Operation } from '../../../http/operation.ts'
import { clientSignal, unlessStopped, workGoesOn } from '../../../http/outliving.ts'
import { CellLines } from './cell-lines.ts'
import type { Context } from './interpreters.ts'
import { preludeOf } from './prelude.ts'

/** Of what is run after a cell: nobody waits for it any longer. */
const RESTORE_MS = 5000

export interface Execution {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly operation: Operation
  readonly sandbox: Sandbox
  /** Whether the sandbox is still there. */
  readonly isAlive: () => Promise<boolean>
}

/** Runs a cell and tells what it prints and shows as lines of JSON, while it does so. The cell goes on when the server stops. */
export async function execute(
  { outgoing, operation, sandbox, isAlive }: Execution,
  limits: HttpLimits,
  context: Context,
  source: string,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  const code = context.language === 'typescript' ? withoutTypes(source) : source
  const lines = new CellLines(outgoing, limits.writeIdleMs)
  const { signal, end } = context.begin(clientSignal(operation))
  operation.streams((reason) => operation.abort(reason))
  const cell = { code, variables, signal, onEvent: (event: CodeEvent) => lines.event(event) }
  try {
    const turn = context.inTurn(async () => {
      lines.send({ type: 'number_of_executions', execution_count: ++context.executions })
      const result = await runCell(sandbox, context, cell)
      if (result.error?.name === 'InterpreterEnded' && !(await isAlive())) {
        throw new HearthError('sandbox_ended', 'the sandbox ended while the cell ran')
      }
      await tell(lines, context, result)
    })
    await unlessStopped(operation, turn, workGoesOn)
  } catch (error) {
    const failure = operation.failed(error)
    // A cell that has lost its sandbox has no result, and clients take a stream that breaks off, and nothing else, as a sign of it.
    if (isLost(failure)) return await lines.reset()
    // A client that has gone is told nothing; one whose context was ended meanwhile is.
    await context.setPlaced(false)
    const name = failure.code === 'capability_unsupported' ? 'InterpreterNotFound' : 'ContextRestarting'
    lines.send({ type: 'error', name, value: failure.message, traceback: '' })
  } finally {
    end()
  }
  await lines.end()
}

function isLost({ code }: HearthError): boolean {
  return code === 'sandbox_ended' || code === 'sandbox_not_found' || code === 'link_lost'
}

interface Cell {
  readonly code: string
  readonly variables: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onEvent: (event: CodeEvent) => void
}

/** Variables are gone after the cell however it ends: they may be secrets of that call. */
async function runCell(sandbox: Sandbox, context: Context, cell: Cell): Promise<CodeResult> {
  const { code, variables, signal, onEvent } = cell
  signal.throwIfAborted()
  const options = { language: context.interpreter, context: context.name }
  const { before, after } = preludeOf(context.interpreter, context.placed ? null : context.cwd, variables)
  let ended = false
  try {
    if (before !== null) await sandbox.runCode(before, { ...options, signal })
    await context.setPlaced(true)
    const result = await sandbox.runCode(code, { ...options, timeoutMs: LONGEST_COMMAND_MS, signal, onEvent })
    ended = result.error?.name === 'InterpreterEnded'
    return result
  } finally {
    if (after !== null && !ended) await sandbox.runCode(after, { ...options, timeoutMs: RESTORE_MS })
  }
}

/** What is left to be said when the cell has ended. */
async function tell(
  lines: CellLines,
  context: Context,
  { text, error, displays, timedOut, oom }: CodeResult,
): Promise<void> {
  const told = displays.some(({ main }) => main)
  if (text !== null && !told) lines.display({ main: true, data: { 'text/plain': text } })
  if (error === null) return
  if (error.name === 'InterpreterEnded') await context.setPlaced(false)
  const why = timedOut ? 'the cell ran too long' : oom ? 'the sandbox ran out of memory' : error.message
  lines.send({ type: 'error', name: error.name, value: why, traceback: error.traceback })
}

function withoutTypes(source: string): string {
  try {
    return stripTypeScriptTypes(source)
  } catch (error) {
    throw new HearthError('invalid_request', `this is not TypeScript that can be run: ${(error as Error).message}`)
  }
}
