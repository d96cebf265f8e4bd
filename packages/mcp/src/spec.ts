import { isAtLeast, type CreateSandbox } from '@hearth/contract'

/** What a tool call asks for, over what the session was started with. The isolation is never less than that. */
export function specOver(usual: CreateSandbox, asked: CreateSandbox): CreateSandbox {
  const { template, from, ...rest } = usual
  const chosen = asked.template !== undefined || asked.from !== undefined
  const root = {
    ...(template === undefined ? {} : { template }),
    ...(from === undefined ? {} : { from }),
  }
  const atLeast = stronger(usual.atLeast, asked.atLeast)
  return { ...rest, ...(chosen ? {} : root), ...asked, ...(atLeast === undefined ? {} : { atLeast }) }
}

function stronger(one: CreateSandbox['atLeast'], other: CreateSandbox['atLeast']): CreateSandbox['atLeast'] {
  if (one === undefined || other === undefined) return one ?? other
  return isAtLeast(one, other) ? one : other
}
