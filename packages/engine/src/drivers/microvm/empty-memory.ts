import { chmod, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeOnce } from '../staging/write-once.ts'
import { memoryMebibytes } from './machine-arguments.ts'

/** The memory of a machine that boots: a file of its size that is one hole. */
export async function emptyMemory(cache: string, memoryBytes: number): Promise<string> {
  const size = memoryMebibytes(memoryBytes)
  return await makeOnce(join(cache, 'microvm-memory', `empty-${size}`), async (draft) => {
    await writeFile(draft, '')
    await truncate(draft, size * 1024 * 1024)
    // Opened by QEMU's user, through a descriptor: the path is nobody else's.
    await chmod(draft, 0o444)
  })
}
