import { readFileSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hearthHome } from './home.ts'

/** Which server runs on a home, so that the command line finds it wherever it listens. */
interface ServerRecord {
  readonly url: string
  readonly pid: number
  /** With the process id, this names one process for ever: field 22 of /proc/PID/stat. */
  readonly started: string
}

/** Notes the server of this process. Disposing of it forgets it again. */
export async function recordServer(home: string, url: string): Promise<AsyncDisposable> {
  const path = join(home, 'server.json')
  const record: ServerRecord = { url, pid: process.pid, started: startOf(process.pid) ?? '' }
  await mkdir(home, { recursive: true, mode: 0o700 })
  await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 })
  await rename(`${path}.new`, path)
  return { [Symbol.asyncDispose]: async () => await rm(path, { force: true }) }
}

/** Where the server of this home listens; null when none was noted or the noted one has ended. */
export function recordedUrl(): string | null {
  const record = readRecord(join(hearthHome(), 'server.json'))
  return record !== null && startOf(record.pid) === record.started ? record.url : null
}

function readRecord(path: string): ServerRecord | null {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    // None, or not ours to read: then the usual address holds.
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { url, pid, started } = value as Partial<Record<keyof ServerRecord, unknown>>
  return typeof url === 'string' && Number.isSafeInteger(pid) && typeof started === 'string'
    ? { url, pid: pid as number, started }
    : null
}

function startOf(pid: number): string | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')
    return fields.split(' ')[19] ?? null
  } catch {
    // There is no such process.
    return null
  }
}
