import { execFile } from 'node:child_process'
import type { Sandbox } from '@hearth/contract'
import type { Stage } from './stage.ts'

/**
 * A script that reaches something on the bare host and must not reach it from inside. Its body is the body of a
 * Python function: it returns what it got, or raises OSError when it was refused. Any other outcome is a failure of
 * the test, so that a script which cannot run does not pass for one that was refused.
 */
export interface Attempt {
  readonly name: string
  readonly body: string
  readonly parameters?: (stage: Stage) => readonly string[]
  /**
   * `host`: something that belongs to the host and must be out of reach on every rung. `kernel`: the surface of the
   * kernel that the host runs on; a rung with a kernel of its own does not offer it, whatever that kernel answers.
   */
  readonly aim: 'host' | 'kernel'
  /** Tells on the host whether it happened, for scripts that cannot see their own effect. */
  readonly happened?: (stage: Stage) => boolean
  /** Why the host may be unable to show that the script works: a reason, or null when it can. */
  readonly controlObstacle?: (stage: Stage) => string | null
}

const PRELUDE = `
import ctypes, errno, os, socket, stat, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    values = [value if isinstance(value, (bytes, ctypes.Array, type(None))) or hasattr(value, "_obj") else ctypes.c_long(value) for value in arguments]
    result = libc.syscall(ctypes.c_long(number), *values)
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def reached(number, *arguments):
    try: return "result %d" % call(number, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS): raise
        return "the kernel looked at it: %s" % error
def pids():
    return [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
def attempt(*argv):
`

const EPILOGUE = `
try:
    found = attempt(*sys.argv[1:])
    print("REACHED", repr(found)[:200])
except OSError as error:
    print("REFUSED", error)
`

export function programOf(attempt: Attempt): string {
  const body = attempt.body
    .trim()
    .split('\n')
    .map((line) => `    ${line}`)
  return `${PRELUDE}${body.join('\n')}\n${EPILOGUE}`
}

export interface Verdict {
  readonly reached: boolean
  readonly detail: string
}

/** Runs it with no sandbox around it. */
export async function runOnHost(attempt: Attempt, stage: Stage): Promise<Verdict> {
  const parameters = ['-c', programOf(attempt), ...(attempt.parameters?.(stage) ?? [])]
  const outcome = await new Promise<{ text: string; problem: string }>((resolve) => {
    execFile('/usr/bin/python3', parameters, { timeout: 20_000 }, (error, stdout, stderr) => {
      resolve({ text: stdout, problem: `${error?.message ?? ''} ${stderr}` })
    })
  })
  return await judge(attempt, stage, outcome.text, outcome.problem)
}

export async function runInside(attempt: Attempt, stage: Stage, sandbox: Sandbox, users: boolean): Promise<Verdict> {
  const program = ['python3', '-c', programOf(attempt), ...(attempt.parameters?.(stage) ?? [])]
  // As root, which has the best chances, unless the rung knows one user only.
  const result = await sandbox.exec(program, { timeoutMs: 30_000, ...(users ? { user: 'root' } : {}) })
  return await judge(attempt, stage, result.stdout, `${result.stderr} exit ${result.exitCode} signal ${result.signal}`)
}

async function judge(attempt: Attempt, stage: Stage, text: string, problem: string): Promise<Verdict> {
  const line = text.trim().split('\n').at(-1) ?? ''
  if (attempt.happened !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, 150))
    return { reached: attempt.happened(stage), detail: line }
  }
  // A script that the kernel killed for asking was refused too.
  if (/signal SIGSYS/.test(problem)) return { reached: false, detail: 'killed by SIGSYS' }
  if (!/^(REACHED|REFUSED)/.test(line)) throw new Error(`the script of "${attempt.name}" did not run: ${problem}`)
  return { reached: line.startsWith('REACHED'), detail: line }
}
