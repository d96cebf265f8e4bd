import { lstat, lutimes, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The files of packages keep their times. What the build itself has written, since `began`, gets the latest of those: so the same packages
 * give the same root, whenever and wherever it is built.
 */
export async function settleTimes(root: string, began: Date): Promise<void> {
  const written: string[] = []
  let latest = new Date(0)
  for await (const { path, modified } of everything(root)) {
    if (modified >= began) written.push(path)
    else if (modified > latest) latest = modified
  }
  // Nothing in here changes a directory that was settled before.
  for (const path of written) await lutimes(path, latest, latest)
}

/** SAFETY: nothing follows a link, which could lead out of the root. */
async function* everything(path: string): AsyncGenerator<{ readonly path: string; readonly modified: Date }> {
  const status = await lstat(path)
  yield { path, modified: status.mtime }
  if (!status.isDirectory()) return
  for (const name of await readdir(path)) yield* everything(join(path, name))
}
