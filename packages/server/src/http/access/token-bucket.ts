const MOST_BUCKETS = 10_000

interface Bucket {
  tokens: number
  at: number
}

/** One bucket per name. A name that has not been seen for as long as a bucket takes to fill costs nothing. */
export class TokenBuckets {
  readonly #perSecond: number
  readonly #burst: number
  readonly #now: () => number
  readonly #buckets = new Map<string, Bucket>()

  constructor(perSecond: number, burst: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#now = now
  }

  /** Takes one token and gives 0, or gives the milliseconds until there is one. */
  take(name: string): number {
    const bucket = this.#refilled(name)
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1
      return 0
    }
    return Math.ceil(((1 - bucket.tokens) / this.#perSecond) * 1000)
  }

  /** What `take` would give, without taking. */
  wait(name: string): number {
    const bucket = this.#buckets.has(name) ? this.#refilled(name) : null
    return bucket === null || bucket.tokens >= 1 ? 0 : Math.ceil(((1 - bucket.tokens) / this.#perSecond) * 1000)
  }

  #refilled(name: string): Bucket {
    const now = this.#now()
    let bucket = this.#buckets.get(name)
    if (bucket === undefined) {
      if (this.#buckets.size >= MOST_BUCKETS) this.#forget(now)
      bucket = { tokens: this.#burst, at: now }
      this.#buckets.set(name, bucket)
      return bucket
    }
    bucket.tokens = Math.min(this.#burst, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond)
    bucket.at = now
    return bucket
  }

  /** Full buckets are the same as none; if all are in use, the oldest half goes. */
  #forget(now: number): void {
    const fillMs = (this.#burst / this.#perSecond) * 1000
    for (const [name, bucket] of this.#buckets) if (now - bucket.at >= fillMs) this.#buckets.delete(name)
    if (this.#buckets.size < MOST_BUCKETS) return
    for (const name of [...this.#buckets.keys()].slice(0, MOST_BUCKETS / 2)) this.#buckets.delete(name)
  }
}
