import type { MessageName, Messages } from './messages.gen.ts'
import { MESSAGE_TYPES } from './messages.gen.ts'
import { BOUNDS } from '@hearth/contract'

/** Requests with exactly one answer, which ends their channel. */
export const SINGLE_ANSWERS = {
  Configure: 'Done',
  Network: 'Done',
  Volumes: 'Done',
  Signal: 'Done',
  Resize: 'Done',
  Forget: 'Done',
  Stat: 'Entry',
  MakeDirectory: 'Done',
  Rename: 'Done',
  Remove: 'Done',
  Symlink: 'Done',
  ChangeMode: 'Done',
  Statistics: 'Usage',
} as const satisfies Partial<Record<MessageName, MessageName>>

export type SingleRequest = keyof typeof SINGLE_ANSWERS
export type AnswerTo<Name extends SingleRequest> = Messages[(typeof SINGLE_ANSWERS)[Name]]

/** Requests whose answers are more than one message. */
export type StreamRequest =
  | 'Spawn'
  | 'Attach'
  | 'ListProcesses'
  | 'WatchProcesses'
  | 'Stdin'
  | 'List'
  | 'Read'
  | 'Write'
  | 'Watch'
  | 'CreateTar'
  | 'ExtractTar'
  | 'ListChanges'
  | 'ApplyChanges'
  | 'Connect'

/** Whether a message of the guest is the last one on the channel of a request. */
export function isFinal(request: MessageName, answer: MessageName): boolean {
  if (answer === 'Entry') return request === 'Stat' || request === 'Write'
  return answer === 'Done' || answer === 'Exited' || answer === 'Usage' || answer === 'Failed' || answer === 'Close'
}

const OUTPUT_FIELDS_BYTES = 9

/** How much of the channel's credit a message uses up. */
export function creditOf(request: MessageName, type: number, payloadBytes: number): number {
  if (type === MESSAGE_TYPES.Data || type === MESSAGE_TYPES.Changed) return payloadBytes
  if (type === MESSAGE_TYPES.Output) return Math.max(0, payloadBytes - OUTPUT_FIELDS_BYTES)
  return type === MESSAGE_TYPES.Entry && request === 'List' ? payloadBytes : 0
}

/** What may still come on a channel after the host has closed it: its credit, and a frame or two that need none. */
export const STRAY_BYTES = 2 * BOUNDS.frameBytes
