import { Counter, Gauge, type Registry } from 'prom-client'

export type Labels = Readonly<Record<string, string>>
export type Sample = readonly [labels: Labels, value: number]

type Measure = (
  metrics: Registry,
  name: string,
  help: string,
  labelNames: string[],
  read: () => readonly Sample[],
) => void

/** A gauge whose series are read on each scrape. */
export const gauge: Measure = (metrics, name, help, labelNames, read) =>
  metrics.registerMetric(new Gauge({ name, help, labelNames, registers: [], collect: readAnew(read) }))

/** A counter whose total is kept elsewhere. It restarts with its source, as counters may. */
export const counter: Measure = (metrics, name, help, labelNames, read) =>
  metrics.registerMetric(new Counter({ name, help, labelNames, registers: [], collect: readAnew(read) }))

/** Rebuilds a metric on each scrape, so that removed sources leave no stale series. */
function readAnew(read: () => readonly Sample[]) {
  return function (this: Gauge | Counter): void {
    this.reset()
    for (const [labels, value] of read()) this.inc(labels, value)
  }
}
