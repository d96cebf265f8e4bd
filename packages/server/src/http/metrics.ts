import type { PoolReport } from '@hearth/contract'
import type { HostReport } from '../control-plane.ts'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** What Prometheus is told. Labels come from fixed sets alone, so that no client can make new series. */
export class Metrics {
  readonly registry = new Registry()
  readonly #operations: Counter<'operation' | 'outcome' | 'code'>
  readonly #durations: Histogram<'operation'>
  readonly #active: Gauge<'operation'>

  constructor() {
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry, prefix: 'hearth_' })
    this.#operations = new Counter({
      name: 'hearth_operations_total',
      help: 'Operations of the API by outcome; code is empty for those that went well.',
      labelNames: ['operation', 'outcome', 'code'],
      registers,
    })
    this.#durations = new Histogram({
      name: 'hearth_operation_duration_seconds',
      help: 'From the first byte of the headers to the end of the answer.',
      labelNames: ['operation'],
      buckets: SECONDS,
      registers,
    })
    this.#active = new Gauge({
      name: 'hearth_streams_active',
      help: 'Streams and WebSockets under way.',
      labelNames: ['operation'],
      registers,
    })
  }

  /** Asked each time that somebody looks. */
  observePool(report: () => PoolReport): void {
    const registers = [this.registry]
    const watched = (name: string, help: string, read: (now: PoolReport) => number): void => {
      const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(read(report())) })
    }
    watched('hearth_pool_machines', 'Machines that wait for sandboxes.', ({ waiting }) => waiting)
    watched('hearth_pool_held_bytes', 'Memory that they hold.', ({ heldBytes }) => heldBytes)
    watched('hearth_pool_memory_bytes', 'Memory that they may hold; 0 when off.', ({ memoryBytes }) => memoryBytes)
    const creates: Counter<'outcome'> = new Counter({
      name: 'hearth_pool_creates_total',
      help: 'Creates that a machine could have waited for, by whether one did.',
      labelNames: ['outcome'],
      registers,
      collect: () => {
        const { claimed, missed } = report()
        creates.reset()
        creates.inc({ outcome: 'claimed' }, claimed)
        creates.inc({ outcome: 'missed' }, missed)
      },
    })
  }

  /** How the host does, the same way. */
  observeHost(report: () => HostReport, dropped: () => Readonly<Record<string, number>>): void {
    const registers = [this.registry]
    const sandboxes: Gauge<'state' | 'rung'> = new Gauge({
      name: 'hearth_sandboxes',
      help: 'Sandboxes of this host by state and rung.',
      labelNames: ['state', 'rung'],
      registers,
      collect: () => {
        sandboxes.reset()
        for (const { state, rung, count } of report().sandboxes) sandboxes.set({ state, rung }, count)
      },
    })
    const headroom: Gauge<'resource'> = new Gauge({
      name: 'hearth_host_headroom',
      help: 'What is left of the host for sandboxes: bytes of memory and of disk, processes.',
      labelNames: ['resource'],
      registers,
      collect: () => {
        const { memoryBytes, diskBytes, pids } = report().headroom
        headroom.set({ resource: 'memory_bytes' }, memoryBytes)
        headroom.set({ resource: 'disk_bytes' }, diskBytes)
        headroom.set({ resource: 'processes' }, pids)
      },
    })
    this.#counted('hearth_host_full_total', 'Creates refused by a full host.', 'resource', () => report().refusals)
    this.#counted('hearth_failed_rounds_total', 'Housekeeping that failed.', 'part', () => report().failedRounds)
    this.#counted('hearth_record_dropped_total', 'Entries that the record is missing.', 'reason', dropped)
  }

  /** A counter that somebody else keeps. */
  #counted<Label extends string>(
    name: string,
    help: string,
    label: Label,
    read: () => Readonly<Record<string, number>>,
  ): void {
    const counter: Counter<string> = new Counter({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect: () => {
        counter.reset()
        for (const [value, count] of Object.entries(read())) counter.inc({ [label]: value }, count)
      },
    })
  }

  ended(operation: string, outcome: string, code: string, milliseconds: number): void {
    this.#operations.inc({ operation, outcome, code })
    this.#durations.observe({ operation }, milliseconds / 1000)
  }

  streaming(operation: string, change: 1 | -1): void {
    this.#active.inc({ operation }, change)
  }
}
