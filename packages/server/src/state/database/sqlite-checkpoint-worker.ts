import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/** The thread of `SqliteCheckpoints`. Each message is answered by one checkpoint, which waits for nobody and keeps nobody waiting. */
const database = new DatabaseSync(workerData as string)
parentPort?.on('message', () => database.exec('pragma wal_checkpoint(passive)'))
