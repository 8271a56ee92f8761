import { Counter, type Registry } from 'prom-client'
import type { Logger } from '../core/log.ts'
import { MainThread } from '../core/main-thread.ts'
import { TallyLog } from '../tools/tally-log.ts'
import { watch } from '../http/metrics.ts'

/**
 * The main thread of a node, shared among tenants. Work that keeps it for long is counted by operation or job, and a few
 * cases of each are logged every ten seconds.
 */
export function mainThread(log: Logger, metrics: Registry): MainThread {
  const tally = new TallyLog(log)
  const labelNames = ['op'] as const
  const held = new Counter({
    name: 'crier_event_loop_held_total',
    help: 'How often an operation or job kept the event loop for more than 50 ms',
    labelNames,
    registers: [metrics],
  })
  const seconds = new Counter({
    name: 'crier_event_loop_held_seconds_total',
    help: 'For how long in all',
    labelNames,
    registers: [metrics],
  })
  const thread = new MainThread({
    onHeld: (op, ms) => {
      held.inc({ op })
      seconds.inc({ op }, ms / 1_000)
      const fields = { op, ms: Math.round(ms) }
      tally.add({ level: 'warn', message: 'the event loop was held', reason: op, fields })
    },
  })
  watch(
    metrics,
    'crier_tenant_waiting',
    'Requests that wait for their tenant to be within its share',
    () => thread.waiting,
  )
  return thread
}
