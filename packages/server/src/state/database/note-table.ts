import type { Json } from './tables.ts'

export interface SandboxNotesTable {
  sandbox_id: string
  kind: string
  key: string
  value: Json<unknown>
  created_at: number
}
