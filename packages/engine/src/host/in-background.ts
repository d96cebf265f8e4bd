/** Told of what fails while nobody waits for it, and what it was. */
export type OnProblem = (what: string, error: unknown) => void

/**
 * Does what nobody waits for. The promise resolves when it is over and never rejects: a rejection that nobody handles ends the whole
 * process, with every sandbox call that is under way in it.
 */
export async function inBackground(
  what: string,
  work: () => Promise<unknown> | undefined,
  onProblem: OnProblem,
): Promise<void> {
  await attempt(what, work, onProblem)
}

/** One of several things that do not depend on each other: where it fails it is told, and the others go on. Whether it worked. */
export async function attempt(
  what: string,
  work: () => Promise<unknown> | undefined,
  onProblem: OnProblem,
): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    onProblem(what, error)
    return false
  }
}

/** Where nobody wants to hear of problems. */
export const unheard: OnProblem = () => undefined
