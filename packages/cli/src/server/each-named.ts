import type { Hearth, RemoteSandbox } from '@hearth/sdk'
import { failureOf, reportFailure } from '../output/failure.ts'
import { presentList, type View } from '../output/present.ts'
import { write, writeJson } from '../output/write.ts'
import { findSandbox } from './find-sandbox.ts'
import { withServer, type ServerOptions } from './with-server.ts'

/**
 * Does the same to each thing that is named. One that fails is reported and the others are done all the same; then the exit code is 1.
 * Each id is told when it is done, or one table is at the end.
 */
export async function eachNamed<Result extends { readonly id: string }>(
  names: readonly string[],
  options: ServerOptions,
  view: View<Result> | null,
  work: (hearth: Hearth, name: string) => Promise<Result>,
): Promise<number> {
  const done: Result[] = []
  let failed = false
  for (const name of names) {
    try {
      const result = await withServer(options, async (hearth) => await work(hearth, name))
      if (options.json !== true && view === null) await write(process.stdout, `${result.id}\n`)
      done.push(result)
    } catch (error) {
      // With one name, this is how the command fails; with several, the others go on.
      if (names.length === 1) throw error
      failed = true
      reportFailure(failureOf(error), options.json === true)
    }
  }
  if (options.json === true && names.length === 1) await writeJson(done[0])
  else if (options.json === true) await writeJson(done)
  else if (view !== null && done.length > 0) await presentList(options, done, view)
  return failed ? 1 : 0
}

export async function eachSandbox<Result extends { readonly id: string }>(
  names: readonly string[],
  options: ServerOptions,
  view: View<Result> | null,
  work: (sandbox: RemoteSandbox) => Promise<Result>,
): Promise<number> {
  return await eachNamed(names, options, view, async (hearth, name) => await work(await findSandbox(hearth, name)))
}
