import { readFileSync } from 'node:fs'
import { keyFile } from './home.ts'
import { recordedUrl } from './server-record.ts'

const DEFAULT_URL = 'http://127.0.0.1:7070'

/** Where the server is, what opens it, and where both come from, for those who must correct them. */
export interface FoundServer {
  readonly url: string
  readonly apiKey: string | null
  readonly keySource: 'environment' | 'file' | 'none'
  readonly isLocal: boolean
}

/** `--port`, then `HEARTH_URL`, then what the server of this home noted, then the usual address. */
export function findServer(port: number | undefined): FoundServer {
  const url = port === undefined ? addressOf() : `http://127.0.0.1:${port}`
  const isLocal = isLoopback(url)
  const given = nonEmpty(process.env['HEARTH_API_KEY'])
  if (given !== null) return { url, apiKey: given, keySource: 'environment', isLocal }
  // SAFETY: the key of this home opens everything of its server, so that it is never sent to another machine.
  const kept = isLocal ? readKey() : null
  return { url, apiKey: kept, keySource: kept === null ? 'none' : 'file', isLocal }
}

function addressOf(): string {
  return nonEmpty(process.env['HEARTH_URL']) ?? recordedUrl() ?? DEFAULT_URL
}

function isLoopback(text: string): boolean {
  const host = URL.canParse(text) ? new URL(text).hostname : ''
  return host === 'localhost' || host === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

function readKey(): string | null {
  try {
    return nonEmpty(readFileSync(keyFile(), 'utf8').trim())
  } catch {
    // No server has been started on this home, or its key is not for us: the answer of the server tells.
    return null
  }
}

function nonEmpty(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text
}
