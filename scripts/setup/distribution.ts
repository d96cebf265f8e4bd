import { readFile } from 'node:fs/promises'
import { findProgram } from './find-program.ts'

/** What the set-up can do on this machine. */
export interface Distribution {
  /** `debian`, `ubuntu`, ... or the empty string. */
  readonly id: string
  readonly versionId: string
  readonly codename: string
  readonly root: boolean
  readonly apt: boolean
}

export async function readDistribution(): Promise<Distribution> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const fields = parseOsRelease(text)
  return {
    id: fields['ID'] ?? '',
    versionId: fields['VERSION_ID'] ?? '',
    codename: fields['VERSION_CODENAME'] ?? '',
    root: process.getuid?.() === 0,
    apt: (await findProgram('apt-get')) !== null && (await findProgram('dpkg')) !== null,
  }
}

/** `KEY=value` lines with optional quotes, as os-release(5) has them. */
export function parseOsRelease(text: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const line of text.split('\n')) {
    const match = /^([A-Z0-9_]+)=(.*)$/.exec(line)
    if (match !== null) fields[match[1] ?? ''] = (match[2] ?? '').replace(/^(["'])(.*)\1$/, '$2')
  }
  return fields
}
