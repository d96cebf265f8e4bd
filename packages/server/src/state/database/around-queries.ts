import type { AbortableOperationOptions, CompiledQuery, DatabaseConnection, Driver } from 'kysely'

export type Around = <T>(run: () => Promise<T>) => Promise<T>

/** Puts something around every query of a driver, those that begin and end transactions included, and around connecting. */
export function aroundQueries(driver: Driver, around: Around): Driver {
  const wrapped = new WeakSet<DatabaseConnection>()
  const acquire = driver.acquireConnection.bind(driver)
  driver.acquireConnection = async (options) => {
    const connection = await around(() => acquire(options))
    if (!wrapped.has(connection)) {
      wrapped.add(connection)
      const execute: DatabaseConnection['executeQuery'] = connection.executeQuery.bind(connection)
      connection.executeQuery = <R>(query: CompiledQuery, queryOptions?: AbortableOperationOptions) =>
        around(() => execute<R>(query, queryOptions))
    }
    return connection
  }
  return driver
}
