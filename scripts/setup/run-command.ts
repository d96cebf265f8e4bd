import { spawn } from 'node:child_process'

export interface CommandResult {
  readonly code: number
  readonly stdout: string
  /** Standard output and error together, the last 64 KiB. */
  readonly output: string
}

interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly onLine?: (line: string) => void
}

const KEPT = 65_536

/** Runs a program with an argument vector and collects what it says. Never throws: a program that is absent has code 127. */
export async function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return await new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    })
    let stdout = ''
    let output = ''
    const take = (text: string): void => {
      output = (output + text).slice(-KEPT)
      const line = text.trim().split('\n').at(-1)
      if (line !== undefined && line !== '') options.onLine?.(line)
    }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout = (stdout + text).slice(-KEPT)
      take(text)
    })
    child.stderr.setEncoding('utf8').on('data', take)
    child.on('error', (error) => resolve({ code: 127, stdout, output: `${output}${error.message}\n` }))
    child.on('close', (code) => resolve({ code: code ?? 1, stdout, output }))
  })
}

/** The last lines of a program's output, for a report. */
export function lastLines(output: string, count = 6): string {
  return output.trimEnd().split('\n').slice(-count).join('\n')
}
