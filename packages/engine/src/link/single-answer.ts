import type { HearthError } from '@hearth/contract'
import { assertNotAborted, onAbort } from './abort.ts'
import type { Channel } from './channel.ts'
import type { Link, RequestOptions } from './link.ts'
import type { Messages } from './messages.gen.ts'
import { type AnswerTo, SINGLE_ANSWERS, type SingleRequest } from './requests.ts'

/** Asks and waits for the one answer. One that `accept` refuses ends the link, and this call with it. */
export function singleAnswer<Name extends SingleRequest, Value>(
  link: Link,
  name: Name,
  message: Messages[Name],
  accept: (answer: AnswerTo<Name>) => Value,
  options: RequestOptions,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    assertNotAborted(options.signal)
    const handlers = {
      [SINGLE_ANSWERS[name]]: (answer: AnswerTo<Name>) => {
        const value = accept(answer)
        release()
        resolve(value)
      },
      ended: (error: HearthError) => {
        release()
        reject(error)
      },
    }
    const channel: Channel = link.open(name, message, handlers, options.timeoutMs)
    const release = onAbort(options.signal, (error) => channel.fail(error))
  })
}
