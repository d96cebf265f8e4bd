import type { Operation } from '../state/index.ts'
import type { Context } from './context.ts'

/** Those who come with the same key find the work here until it ends. */
export function trackWork<T>(context: Pick<Context, 'underWay'>, operation: Operation, work: Promise<T>): Promise<T> {
  context.underWay.set(operation.id, work)
  const forget = (): void => void context.underWay.delete(operation.id)
  work.then(forget, forget)
  return work
}
