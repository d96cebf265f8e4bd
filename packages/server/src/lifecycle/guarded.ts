import type { Context } from './context.ts'

/** One of several things that do not depend on each other: where it fails it is told, and the others go on. */
export async function guarded(
  context: Pick<Context, 'report'>,
  what: string,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    context.report(what, error)
  }
}
