/** What a key has that was delegated; all null for another. */
export interface DelegationColumns {
  /** The grant, as JSON: what it may do at the most. */
  granted: string | null
  /** The keys from the first maker to this one, each followed by `/`. */
  path: string | null
  /** The only sandbox that it works from, and ends with. */
  sandbox_id: string | null
}
