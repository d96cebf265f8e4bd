import { setTimeout as sleep } from 'node:timers/promises'
import { alreadySent, type AppContext, type Services } from '../app-env.ts'
import { failureOf } from '../failures.ts'

const LATE = Symbol('late')

/**
 * The answer of a call that may take long. After a while the status goes out, and then a space now and again, so that no client
 * and no proxy gives up; what fails after that is an error body with the status of success.
 */
export async function answerPatiently<Value extends object, Status extends 200 | 201>(
  context: AppContext,
  services: Services,
  status: Status,
  work: Promise<Value>,
  /** Resolves when the status should go out sooner. */
  sooner: Promise<void> | null = null,
) {
  const lateness = [late(services.limits.patienceMs, work)]
  if (sooner !== null) lateness.push(sooner.then((): typeof LATE => LATE))
  const value = await Promise.race([work, ...lateness])
  if (value !== LATE) return context.json<Value, Status>(value, status)
  const { outgoing } = context.env
  const operation = context.get('operation')
  outgoing.writeHead(status, { 'content-type': 'application/json' })
  outgoing.write(' ')
  const spaces = setInterval(() => outgoing.write(' '), services.limits.pingMs)
  try {
    outgoing.end(JSON.stringify(await work))
  } catch (error) {
    outgoing.end(JSON.stringify({ error: failureOf(operation.failed(error), operation.requestId) }))
  } finally {
    clearInterval(spaces)
  }
  return alreadySent()
}

async function late(milliseconds: number, work: Promise<unknown>): Promise<typeof LATE> {
  const waiting = new AbortController()
  const stop = (): void => waiting.abort()
  work.then(stop, stop)
  // When the work is done first, nobody waits for this any more.
  return await sleep(milliseconds, LATE, { signal: waiting.signal }).catch(() => LATE)
}
