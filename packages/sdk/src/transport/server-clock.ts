/** The header has whole seconds, and an answer takes its time: less is no difference. */
const NO_DIFFERENCE_MS = 3000

/** What the server's clock says, known from the dates of its answers. Deadlines are meant by that clock, which may differ from ours. */
export class ServerClock {
  #aheadMs = 0

  heard(date: string | null): void {
    const time = date === null ? Number.NaN : Date.parse(date)
    if (!Number.isFinite(time)) return
    const aheadMs = time - Date.now()
    this.#aheadMs = Math.abs(aheadMs) > NO_DIFFERENCE_MS ? aheadMs : 0
  }

  now(): number {
    return Date.now() + this.#aheadMs
  }
}
