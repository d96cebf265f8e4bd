import { assertNotAborted } from '../hearth-error.ts'

/**
 * What is made under a key is made even when its caller has gone, since the key may be used again. Nobody has one that was made up for a
 * single call: what comes of that after the caller gave up is removed.
 */
export async function unlessGivenUp<Made>(
  signal: AbortSignal | undefined,
  make: () => Promise<Made>,
  remove: (made: Made) => Promise<unknown>,
): Promise<Made> {
  assertNotAborted(signal)
  if (signal === undefined) return await make()
  const making = make()
  let made = false
  let stop = (): void => {}
  const givenUp = new Promise<never>((_, reject) => {
    stop = () => {
      if (made) return
      // What cannot be removed now ends at its deadline; a request that fails has made nothing.
      making.then(remove).catch(() => {})
      try {
        assertNotAborted(signal)
      } catch (error) {
        reject(error as Error)
      }
    }
  })
  const noted = making.finally(() => (made = true))
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([noted, givenUp])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
