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

/** A gauge of which every series is read when it is scraped. */
export const gauge: Measure = (metrics, name, help, labelNames, read) =>
  metrics.registerMetric(new Gauge({ name, help, labelNames, registers: [], collect: readAnew(read) }))

/** A total that somebody else counts. It starts anew with whoever counts, as counters may. */
export const counter: Measure = (metrics, name, help, labelNames, read) =>
  metrics.registerMetric(new Counter({ name, help, labelNames, registers: [], collect: readAnew(read) }))

/** Fills a metric from nothing whenever it is scraped, so that what is gone leaves no series behind. */
function readAnew(read: () => readonly Sample[]) {
  return function (this: Gauge | Counter): void {
    this.reset()
    for (const [labels, value] of read()) this.inc(labels, value)
  }
}
