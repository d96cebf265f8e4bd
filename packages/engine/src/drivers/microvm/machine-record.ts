import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const FILE = 'machine.json'

const schema = z.object({
  memoryBytes: z.int().positive(),
  facts: z.record(z.string(), z.union([z.string(), z.number()])),
})

/** What must be known of a running machine to capture it, also by an engine that did not start it. */
export type MachineRecord = z.output<typeof schema>

export async function writeMachineRecord(directory: string, record: MachineRecord): Promise<void> {
  await writeFile(join(directory, FILE), JSON.stringify(record), { mode: 0o600 })
}

/** Null when the machine was started in a way that allows no capture. */
export async function readMachineRecord(directory: string): Promise<MachineRecord | null> {
  const text = await readFile(join(directory, FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return text === null ? null : schema.parse(JSON.parse(text))
}
