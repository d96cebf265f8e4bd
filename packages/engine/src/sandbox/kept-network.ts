import { join } from 'node:path'
import { z } from 'zod'
import type { NetworkUse } from '../gateway/budget.ts'
import type { KeptAuthority } from '../gateway/tls/authority.ts'
import { readKept, writeKept, writeKeptOfLiving } from './kept-file.ts'

/** What programs of a sandbox hold of its network, and must find again after a restart of the host and when they wake. */
export interface NetworkKeys {
  /** By the name of the secret. Of no worth to anybody but this sandbox. */
  readonly placeholders: Readonly<Record<string, string>>
  /** The authority that it trusts, with the key. */
  readonly authority: KeptAuthority | null
}

const keysSchema = z.object({
  placeholders: z.record(z.string(), z.string()),
  authority: z.object({ certificate: z.string(), key: z.string() }).nullable(),
})

const useSchema = z.object({ sentBytes: z.number(), receivedBytes: z.number(), connections: z.number() })

const KEYS_FILE = 'network-keys.json'
const USE_FILE = 'network-use.json'

/** What stays in the directory of a sandbox that sleeps. */
export const KEPT_NETWORK_FILES = [KEYS_FILE, USE_FILE] as const

/** Null when there are none, and when a crash has damaged them: then there are new ones. */
export function readNetworkKeys(directory: string): NetworkKeys | null {
  return keysSchema.safeParse(readKept(join(directory, KEYS_FILE))).data ?? null
}

/** For the owner of the home alone, whose directory nobody else can enter either. */
export function writeNetworkKeys(directory: string, keys: NetworkKeys): void {
  writeKept(join(directory, KEYS_FILE), keys)
}

/** Null when nothing was written, or a crash has damaged it. */
export function readNetworkUse(directory: string): NetworkUse | null {
  return useSchema.safeParse(readKept(join(directory, USE_FILE))).data ?? null
}

export function writeNetworkUse(directory: string, use: NetworkUse): void {
  writeKeptOfLiving(join(directory, USE_FILE), use)
}
