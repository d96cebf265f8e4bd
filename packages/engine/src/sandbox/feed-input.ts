import { HearthError, type Process } from '@hearth/contract'

/** A command that ends before it has read its input is no error: its result says what it did. */
export async function feed(process: Process, input: string | Uint8Array): Promise<void> {
  try {
    await process.write(input)
    await process.closeStdin()
  } catch (error) {
    if (!HearthError.isInstance(error)) throw error
  }
}
