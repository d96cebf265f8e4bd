import type { AgentResult } from '@hearth/agent'

/** What came of a run, or of the best of several. */
export type Outcome = Pick<AgentResult, 'reason' | 'diff' | 'summary' | 'verified' | 'steps' | 'dollars'> & {
  /** False where it is known that its check passed before the change too. */
  readonly proven?: boolean
}

/** Where a change goes besides being shown as a patch. */
export interface Destination {
  /** Null when nothing was written there, since there is nothing or it is not for it. */
  write(outcome: Outcome, task: string): Promise<Delivered | null>
}

export interface Delivered {
  /** All that `--quiet` prints. */
  readonly id: string
  readonly people: string
  readonly json: Readonly<Record<string, unknown>>
}

const TITLE_CHARACTERS = 72

/** The first line of the task, short enough for a commit and a pull request. */
export function titleOf(task: string): string {
  const [title = ''] = task.trim().split('\n')
  return title.length > TITLE_CHARACTERS ? `${title.slice(0, TITLE_CHARACTERS - 3)}...` : title
}

/** Of a commit: what was asked, what the model says that it did, and whether it was done. */
export function messageOf(task: string, { summary, reason }: Outcome): string {
  const end = reason === 'submitted' ? '' : `\n\nThe run was cut short: ${reason}.`
  return textOfCommit(`${titleOf(task)}\n\n${summary ?? ''}${end}\n`)
}

// oxlint-disable-next-line no-control-regex -- these are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** SAFETY: a model wrote a part of it. git takes no NUL, and whoever reads the history has a terminal. */
export function textOfCommit(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(CONTROL, '').toWellFormed()
}
