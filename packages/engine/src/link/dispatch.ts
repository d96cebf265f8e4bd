import { HearthError } from '@hearth/contract'
import type { Channel } from './channel.ts'
import { failureOf } from './errno.ts'
import { DECODERS, GUEST_MESSAGES, type MessageName, type Messages } from './messages.gen.ts'
import { creditOf, isFinal } from './requests.ts'
import { PayloadReader, WireError } from './wire.ts'

/**
 * Gives one frame to the handlers of its channel; false when it is none that the channel expects. `forget` is called before the handler of
 * a final message, so that the handler finds the channel ended.
 */
export function dispatch(
  channel: Channel,
  type: number,
  payload: Buffer,
  stable: boolean,
  forget: () => void,
): boolean {
  const name = GUEST_MESSAGES.get(type)
  if (name === undefined) throw new WireError(`type ${type} is not a message of a guest`)
  const credit = creditOf(channel.request, type, payload.length)
  channel.received(credit)
  if (isFinal(channel.request, name)) {
    forget()
    channel.finish()
  }
  if (name === 'Credit') channel.credited(decode('Credit', payload).bytes)
  else if (name === 'Failed') {
    const failed = decode('Failed', payload)
    channel.end(failureOf(channel.request, failed.errno, failed.what))
  } else if (name === 'Close' && channel.handlers.Close === undefined) {
    decode('Close', payload)
    channel.end(new HearthError('aborted', `the guest closed ${channel.request}`))
  } else return handle(channel, name, payload, stable, credit)
  return true
}

type Handler<Name extends MessageName> = (message: Messages[Name], stable: boolean, creditBytes: number) => void

function handle<Name extends MessageName>(
  channel: Channel,
  name: Name,
  payload: Buffer,
  stable: boolean,
  creditBytes: number,
): boolean {
  const handler = channel.handlers[name] as Handler<Name> | undefined
  if (handler === undefined) return false
  handler(decode(name, payload), stable, creditBytes)
  return true
}

/** One whole payload, no byte more. */
export function decode<Name extends MessageName>(name: Name, payload: Buffer): Messages[Name] {
  const reader = new PayloadReader(payload)
  const message = DECODERS[name](reader)
  reader.finish()
  return message
}
