import type { BenchContext } from '../context.ts'
import type { Floor } from '../report/row.ts'

/** The same work without Hearth: each call gives the milliseconds of one run. */
export interface NamedFloor {
  readonly name: string
  readonly sample: () => Promise<number>
}

/** A floor that does not work here (podman is not installed) is left out, and said. */
export async function usable(floors: readonly NamedFloor[], context: BenchContext): Promise<NamedFloor[]> {
  const found: NamedFloor[] = []
  for (const floor of floors) {
    try {
      await floor.sample()
      found.push(floor)
    } catch (error) {
      context.progress(`no floor "${floor.name}": ${(error as Error).message}`)
    }
  }
  return found
}

/** Takes samples of something in turn with those of its floors, so that all meet the same load. */
export async function inTurn(
  rounds: number,
  floors: readonly NamedFloor[],
  sample: () => Promise<number>,
): Promise<{ samples: number[]; floors: Floor[] }> {
  const samples: number[] = []
  const taken = floors.map(({ name }): Floor & { samples: number[] } => ({ name, samples: [] }))
  for (let round = 0; round < rounds; round++) {
    for (const [index, floor] of floors.entries()) taken[index]?.samples.push(await floor.sample())
    samples.push(await sample())
  }
  return { samples, floors: taken }
}
