import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { CheckedCall, HookDecision, Hooks } from '@hearth/agent'
import { HearthError } from '@hearth/contract'
import { z } from 'zod'
import type { RuleOptions } from '../options/rule-options.ts'

/** How long one may take, and what it may say. */
const HOOK_MS = 60_000
const ANSWER_BYTES = 16 * 1024 * 1024
const REASON_CHARACTERS = 2000

const beforeSchema = z.union([z.strictObject({ deny: z.string() }), z.strictObject({ input: z.unknown() })])
const afterSchema = z.strictObject({ text: z.string() })

/**
 * Programs of this machine that look at each call. They get it as JSON on standard input. One before a call refuses it with an exit code
 * or with `{"deny": "why"}`, and changes it with `{"input": ...}`; one after it changes what the model is told with `{"text": "..."}`.
 */
export function hooksOf({ hookBefore, hookAfter }: RuleOptions, timeoutMs = HOOK_MS): Hooks | undefined {
  if (hookBefore === undefined && hookAfter === undefined) return undefined
  return {
    ...(hookBefore === undefined ? {} : { beforeTool: async (call) => await before(hookBefore, call, timeoutMs) }),
    ...(hookAfter === undefined
      ? {}
      : {
          afterTool: async ({ name, input }, { text, failed = false }) => {
            const answer = await run(
              hookAfter,
              { event: 'after_tool', tool: name, input, result: { text, failed } },
              timeoutMs,
            )
            if (answer.code !== 0) throw failure(hookAfter, answer)
            return answer.said === '' ? undefined : parse(afterSchema, hookAfter, answer.said).text
          },
        }),
  }
}

async function before(command: string, { name, input }: CheckedCall, timeoutMs: number): Promise<HookDecision> {
  const answer = await run(command, { event: 'before_tool', tool: name, input }, timeoutMs)
  if (answer.code !== 0) return { deny: failure(command, answer).message }
  return answer.said === '' ? undefined : (parse(beforeSchema, command, answer.said) as HookDecision)
}

interface Answer {
  readonly code: number | null
  readonly said: string
  readonly problems: string
}

async function run(command: string, call: object, timeoutMs: number): Promise<Answer> {
  // A group of its own, which ends as a whole: what it has started would keep its output open.
  const child = spawn('sh', ['-c', command], { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const end = (): void => endGroup(child.pid)
  const timer = setTimeout(end, timeoutMs)
  try {
    // One that does not read its call is none the worse for it.
    child.stdin.on('error', () => undefined).end(`${JSON.stringify(call)}\n`)
    const [said, problems] = [collect(child.stdout, end), collect(child.stderr, end)]
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, said: (await said).trim(), problems: (await problems).trim() }
  } finally {
    clearTimeout(timer)
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function collect(stream: NodeJS.ReadableStream, tooMuch: () => void): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += (chunk as Buffer).length
    if (size > ANSWER_BYTES) tooMuch()
    else chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}

function failure(command: string, { code, problems }: Answer): HearthError {
  const how = code === null ? 'was ended' : `ended with ${code}`
  const why = problems === '' ? '' : `: ${problems.slice(0, REASON_CHARACTERS)}`
  return new HearthError('invalid_request', `the hook \`${command}\` ${how}${why}`)
}

function parse<Schema extends z.ZodType>(schema: Schema, command: string, text: string): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    const message = `the hook \`${command}\` said what is no answer: ${text.slice(0, 200)}`
    throw new HearthError('invalid_request', message, { cause: error })
  }
}
