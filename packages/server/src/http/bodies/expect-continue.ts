import type { IncomingMessage, ServerResponse } from 'node:http'

const held = new WeakMap<IncomingMessage, ServerResponse>()

/** The client waits with its body (`Expect: 100-continue`) until somebody is about to read it: one that is refused never sends it. */
export function holdBody(incoming: IncomingMessage, outgoing: ServerResponse): void {
  held.set(incoming, outgoing)
}

/** Lets the body of a request come, where the client waits to be asked for it. */
export function askForBody(incoming: IncomingMessage): void {
  const outgoing = held.get(incoming)
  if (outgoing === undefined) return
  held.delete(incoming)
  if (!outgoing.headersSent) outgoing.writeContinue()
}
