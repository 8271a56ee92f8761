import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

/** The process's metrics: one registry, handed to whoever counts. */
export function createMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** Requests by operation and class of status. Handles of label sets are kept: looking them up costs more than counting. */
export class HttpMetrics {
  readonly #durations: Histogram<'op' | 'status'>
  readonly #handles = new Map<string, Histogram.Internal<'op' | 'status'>>()
  readonly inFlight: Gauge
  readonly refused: Counter

  constructor(registry: Registry) {
    this.#durations = new Histogram({
      name: 'crier_http_request_seconds',
      help: 'Time from the request line to the reply, by operation and class of status',
      labelNames: ['op', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    })
    this.inFlight = new Gauge({ name: 'crier_http_in_flight', help: 'Requests being answered', registers: [registry] })
    this.refused = new Counter({
      name: 'crier_http_overloaded_total',
      help: 'Requests refused because too many were in flight',
      registers: [registry],
    })
  }

  observe(op: string, status: number, seconds: number): void {
    const key = `${op} ${status}`
    let handle = this.#handles.get(key)
    if (handle === undefined) {
      handle = this.#durations.labels({ op, status: `${Math.floor(status / 100)}xx` })
      this.#handles.set(key, handle)
    }
    handle.observe(seconds)
  }
}
