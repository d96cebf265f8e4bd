/** Waits for the work, but no longer than this; it goes on all the same. */
export async function atMost(milliseconds: number, work: Promise<void>): Promise<void> {
  const patience = Promise.withResolvers<void>()
  const timer = setTimeout(patience.resolve, milliseconds)
  await Promise.race([work, patience.promise])
  clearTimeout(timer)
}
