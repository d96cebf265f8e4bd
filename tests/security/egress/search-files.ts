import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hearth } from '@hearth/engine'
import { notationsOf, VALUES, type StageReport } from './places.ts'

type Sandbox = Awaited<ReturnType<Hearth['create']>>
type Found = Pick<StageReport, 'leaks' | 'searched'>

const CHUNK = 8 * 1024 * 1024
/** No notation of a value is longer. */
const OVERLAP = 512

/** Searches what the host keeps of a sandbox: its records, its disk, and an image of its memory where the rung makes one. */
export async function searchFiles(
  hearth: Hearth,
  sandbox: Sandbox,
  placeholders: Readonly<Record<string, string>>,
  snapshots: boolean,
): Promise<Found> {
  const { home } = hearth.paths
  const snapshot = snapshots ? await sandbox.snapshot() : null
  const folders = [
    join(home, 'sandboxes', sandbox.id),
    ...(snapshot === null ? [] : [join(home, 'store', 'snapshots', snapshot.id)]),
  ]
  try {
    const leaks: string[] = []
    let files = 0
    let withPlaceholder = 0
    for (const folder of folders) {
      for await (const path of filesBelow(folder)) {
        files++
        const [value, placeholder] = await holds(path, [
          Object.values(VALUES).flatMap((secret) => notationsOf(secret)),
          Object.values(placeholders),
        ])
        if (value === true) leaks.push(path)
        if (placeholder === true) withPlaceholder++
      }
    }
    return { leaks, searched: { files, withPlaceholder } }
  } finally {
    if (snapshot !== null) await hearth.snapshots.remove(snapshot.id)
  }
}

async function* filesBelow(folder: string): AsyncIterable<string> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesBelow(path)
    // The mark of a snapshot that is not on the disk yet goes while this looks; it holds the number of a boot.
    else if (entry.isFile() && entry.name !== 'unwritten') yield path
  }
}

/** Of each list, whether the file holds one of its texts. */
async function holds(path: string, lists: readonly (readonly string[])[]): Promise<boolean[]> {
  const needles = lists.map((texts) => texts.map((text) => Buffer.from(text, 'latin1')))
  const found = lists.map(() => false)
  const file = await open(path)
  try {
    const buffer = Buffer.alloc(CHUNK + OVERLAP)
    for (let at = 0; ; at += CHUNK) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
      const part = buffer.subarray(0, bytesRead)
      for (const [index, texts] of needles.entries()) {
        if (found[index] !== true && texts.some((text) => part.includes(text))) found[index] = true
      }
      if (bytesRead < buffer.length) return found
    }
  } finally {
    await file.close()
  }
}
