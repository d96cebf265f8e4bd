/** Comparing took more work than it may: the answer is not known, and nothing that is not known is allowed. */
export class Undecided extends Error {}

/** Of one comparison, so that nobody can keep a server busy with rules that are hard to compare. About a tenth of a second. */
const MOST_STEPS = 500_000

export class Work {
  #left = MOST_STEPS

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new Undecided('the rules are too complicated to be compared')
  }
}
