import { spawn } from 'node:child_process'
import type { HearthCommand } from './hearth-command.ts'

interface Session {
  readonly code: number | null
  readonly screen: string
}

/** Types into a terminal that script(1) makes: each line when the screen shows what it waits for. */
export async function typeInto(
  hearth: HearthCommand,
  command: string,
  turns: readonly (readonly [waitFor: RegExp, type: string])[],
): Promise<Session> {
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...process.env, ...hearth.env, TERM: 'xterm', PS1: '$ ' },
    stdio: 'pipe',
  })
  let screen = ''
  const pending = [...turns]
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
    const next = pending[0]
    if (next === undefined || !next[0].test(screen)) return
    pending.shift()
    child.stdin.write(next[1])
  })
  const watchdog = setTimeout(() => child.kill('SIGKILL'), 60_000)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  clearTimeout(watchdog)
  return { code, screen }
}
