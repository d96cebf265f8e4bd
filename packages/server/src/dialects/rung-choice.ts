import { HearthError, isAtLeast, parseInput, rungSchema, type CreateSandbox, type Rung } from '@hearth/contract'

/** Entries of the metadata with which clients of other vendors choose the rung. They stay visible. */
const RUNG_KEY = 'hearth.rung'
const AT_LEAST_KEY = 'hearth.atLeast'

type RungChoice = Pick<CreateSandbox, 'rung' | 'atLeast'>

export function rungOf(metadata: Readonly<Record<string, string>>): RungChoice {
  const { [RUNG_KEY]: rung, [AT_LEAST_KEY]: atLeast } = metadata
  return {
    ...(rung === undefined ? {} : { rung: parseInput(rungSchema, rung, `metadata.${RUNG_KEY}`) }),
    ...(atLeast === undefined ? {} : { atLeast: parseInput(rungSchema, atLeast, `metadata.${AT_LEAST_KEY}`) }),
  }
}

export function choosesRung(metadata: Readonly<Record<string, string>>): boolean {
  return RUNG_KEY in metadata || AT_LEAST_KEY in metadata
}

/** A copy has the rung of its original: one that is asked for and is another is refused. */
export function requireSameRung(metadata: Readonly<Record<string, string>>, actual: Rung): void {
  const { rung = actual, atLeast = actual } = rungOf(metadata)
  if (rung === actual && isAtLeast(actual, atLeast)) return
  const wanted = rung === actual ? `at least ${atLeast}` : rung
  throw new HearthError('snapshot_incompatible', `a copy has the rung ${actual}, and ${wanted} was asked for`)
}
