/** `limit`: null where the model has no price, so that nothing is known of what it costs. */
export function money(dollars: number, limit: number | null): string {
  return limit === null && dollars === 0 ? '$?' : `$${dollars.toFixed(2)}`
}
