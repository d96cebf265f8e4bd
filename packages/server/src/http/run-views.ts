import type { RunInfo, RunLease, RunLeaseView, RunMessage, RunMessageView, RunView } from '@hearth/contract'

export function runView(run: RunInfo): RunView {
  const { driver, createdAt, updatedAt, metadata, ...rest } = run
  return {
    ...rest,
    metadata: { ...metadata },
    driver: driver === null ? null : { owner: driver.owner, until: driver.until.toISOString() },
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }
}

export function leaseView(lease: RunLease): RunLeaseView {
  return { ...lease, until: lease.until.toISOString() }
}

export function messageView(message: RunMessage): RunMessageView {
  return { ...message, at: message.at.toISOString() }
}
