import { parseInput, rungSchema, type CreateSandbox } from '@hearth/contract'

/** Entries of the metadata with which clients of other vendors choose the rung. They stay visible. */
const RUNG_KEY = 'hearth.rung'
const AT_LEAST_KEY = 'hearth.atLeast'

export function rungOf(metadata: Readonly<Record<string, string>>): Pick<CreateSandbox, 'rung' | 'atLeast'> {
  const { [RUNG_KEY]: rung, [AT_LEAST_KEY]: atLeast } = metadata
  return {
    ...(rung === undefined ? {} : { rung: parseInput(rungSchema, rung, `metadata.${RUNG_KEY}`) }),
    ...(atLeast === undefined ? {} : { atLeast: parseInput(rungSchema, atLeast, `metadata.${AT_LEAST_KEY}`) }),
  }
}
