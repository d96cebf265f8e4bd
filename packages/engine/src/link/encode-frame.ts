import { ENCODERS, MESSAGE_TYPES, type MessageName, type Messages } from './messages.gen.ts'
import { PayloadWriter } from './wire.ts'

/** One message as a frame. */
export function encodeFrame<Name extends MessageName>(name: Name, message: Messages[Name], channel = 0): Buffer {
  const writer = new PayloadWriter()
  ENCODERS[name](message, writer)
  return writer.finish(MESSAGE_TYPES[name], channel)
}
