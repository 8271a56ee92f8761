import { Counter, Gauge, Registry, collectDefaultMetrics, type Histogram } from 'prom-client'

/** The metrics of the process: one registry, shared by everything that records metrics. */
export function createMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** Upper bounds of the duration buckets in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Durations {
  readonly op: string
  readonly status: string
  /** Observations per bucket; the last bucket is unbounded. Not cumulative. */
  readonly counts: Float64Array
  sum: number
}

/**
 * Requests by operation and status class. They are counted in plain arrays and converted to a Prometheus histogram when
 * scraped, because the library's own histogram costs more than the rest of a small request.
 */
export class HttpMetrics {
  readonly #durations = new Map<string, Durations>()
  readonly #byCode = new Map<string, Durations[]>()
  /** Requests in flight. The server sets it. */
  inFlight: () => number = () => 0
  /** Incomplete bodies. The server sets it. */
  bodies: () => number = () => 0
  /** Connections without a request. The server sets it. */
  newConnections: () => number = () => 0
  /** Replies that their clients have not read yet. */
  replies: () => number = () => 0
  readonly refused: Counter
  /** Transfers that were closed because their clients were too slow or had too many. */
  readonly cut: Counter<'what' | 'reason'>

  constructor(registry: Registry) {
    const durations = this.#durations
    const name = 'crier_http_request_seconds'
    const metric = {
      name,
      help: 'Time from the request line to the reply, by operation and status class',
      type: 'histogram',
      aggregator: 'sum',
      get: async () => ({
        name,
        help: metric.help,
        type: metric.type,
        aggregator: metric.aggregator,
        values: [...durations.values()].flatMap((row) => histogramValues(name, row)),
      }),
      reset: () => durations.clear(),
    }
    registry.registerMetric(metric as unknown as Histogram)
    watch(registry, 'crier_http_in_flight', 'Requests in flight', () => this.inFlight())
    watch(registry, 'crier_http_bodies_pending', 'Requests with an incomplete body', () => this.bodies())
    watch(registry, 'crier_http_replies_pending', 'Replies that clients have not read yet', () => this.replies())
    watch(registry, 'crier_http_connections_pending', 'Connections that have sent no request yet', () =>
      this.newConnections(),
    )
    this.cut = new Counter({
      name: 'crier_http_cut_total',
      help: 'Bodies, replies and new connections closed because the client was too slow (slow), took too long (long) or had too many (crowded)',
      labelNames: ['what', 'reason'],
      registers: [registry],
    })
    this.refused = new Counter({
      name: 'crier_http_overloaded_total',
      help: 'Requests refused because too many were in flight',
      registers: [registry],
    })
  }

  observe(op: string, status: number, seconds: number): void {
    const family = Math.floor(status / 100)
    const rows = this.#byCode.get(op) ?? this.#remember(op)
    const row = (rows[family] ??= this.#row(op, `${family}xx`))
    let bucket = 0
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket += 1
    row.counts[bucket] = (row.counts[bucket] as number) + 1
    row.sum += seconds
  }

  #remember(op: string): Durations[] {
    const rows: Durations[] = []
    this.#byCode.set(op, rows)
    return rows
  }

  #row(op: string, status: string): Durations {
    const row = { op, status, counts: new Float64Array(BOUNDS.length + 1), sum: 0 }
    this.#durations.set(`${op} ${status}`, row)
    return row
  }
}

/** A gauge whose value is read on each scrape. */
export function watch(registry: Registry, name: string, help: string, read: () => number): void {
  const gauge = new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read())
    },
  })
  registry.registerMetric(gauge)
}

function histogramValues(name: string, row: Durations) {
  const labels = { op: row.op, status: row.status }
  let total = 0
  const buckets = [...row.counts].map((count, index) => {
    total += count
    return { metricName: `${name}_bucket`, labels: { le: BOUNDS[index] ?? '+Inf', ...labels }, value: total }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: row.sum },
    { metricName: `${name}_count`, labels, value: total },
  ]
}
