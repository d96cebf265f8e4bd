import type { Model } from '../models/model.ts'

/** How one attempt differs from the others. */
export interface Variation {
  readonly name?: string
  readonly model: Model
  /** Default: the provider's. */
  readonly temperature?: number
  /** More to tell this one. */
  readonly hint?: string
}

const HINTS = [
  '',
  'Find the cause before you change anything: trace the failing case from its input to the wrong output.',
  'Prefer the smallest change that is right in general, not only for the cases that are named.',
  'Begin with a small program that reproduces the problem. Keep it out of the result.',
  'Think of the cases that nobody names: empty, one, many, the ends of ranges, and what must stay as it is.',
] as const

/** So many attempts: the models take turns, as do the temperatures, and each has a hint of its own as far as there are some. */
export function variations(
  count: number,
  options: { readonly models: readonly Model[]; readonly temperatures?: readonly number[] },
): Variation[] {
  const { models, temperatures = [] } = options
  return Array.from({ length: count }, (_, index) => {
    const model = models[index % models.length]
    if (model === undefined) throw new RangeError('there must be a model')
    const temperature = temperatures[index % Math.max(1, temperatures.length)]
    const hint = HINTS[Math.floor(index / models.length) % HINTS.length] ?? ''
    return { name: `attempt ${index + 1}`, model, hint, ...(temperature === undefined ? {} : { temperature }) }
  })
}
