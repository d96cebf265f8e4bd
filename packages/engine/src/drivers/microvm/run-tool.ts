import { execFile } from 'node:child_process'

/** Where administrators' tools lie that are often not on a user's path. */
const DIRECTORIES = ['/usr/bin', '/usr/sbin', '/bin', '/sbin', '/usr/local/bin', '/usr/local/sbin']
const MAXIMUM_OUTPUT_BYTES = 64 * 1024 * 1024

/** Runs a tool of the host to its end and gives its standard output. What it said goes into the error when it fails. */
export async function runTool(
  program: string,
  parameters: readonly string[],
  options: {
    readonly cwd?: string
    readonly timeoutMs?: number
    readonly input?: Buffer
    readonly environment?: Readonly<Record<string, string>>
  } = {},
): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const settings = {
      cwd: options.cwd ?? '/',
      timeout: options.timeoutMs ?? 600_000,
      maxBuffer: MAXIMUM_OUTPUT_BYTES,
      encoding: 'buffer',
      env: { PATH: DIRECTORIES.join(':'), LC_ALL: 'C', HOME: process.env['HOME'] ?? '/', ...options.environment },
    } as const
    const child = execFile(program, [...parameters], settings, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else
        reject(
          new Error(`${program} failed: ${stderr.toString().trim().slice(-2000) || error.message}`, { cause: error }),
        )
    })
    // A tool that ends without reading its input says why in its own words.
    child.stdin?.on('error', () => child.stdin?.destroy())
    child.stdin?.end(options.input)
  })
}
