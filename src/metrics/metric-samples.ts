import { Counter, Gauge, type Registry } from 'prom-client'

export type Labels = Readonly<Record<string, string>>
export type Sample = readonly [labels: Labels, value: number]

type Measure = (
  metrics: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => readonly Sample[],
) => void

/** A gauge whose series are read on each scrape. */
export const gauge: Measure = (metrics, name, help, labelNames, read) =>
  metrics.registerMetric(new Gauge({ name, help, labelNames: [...labelNames], registers: [], collect: reread(read) }))

/** A counter whose total is kept elsewhere. It restarts with its source, as counters may. */
export const counter: Measure = (metrics, name, help, labelNames, read) =>
  metrics.registerMetric(new Counter({ name, help, labelNames: [...labelNames], registers: [], collect: reread(read) }))

/** Rebuilds a metric on each scrape, so that removed sources leave no stale series. */
function reread(read: () => readonly Sample[]) {
  return function (this: Gauge | Counter): void {
    this.reset()
    for (const [labels, value] of read()) this.inc(labels, value)
  }
}

/** What a metric reads of a source: one value, values with further labels, or null for none. */
type Reading = number | null | readonly Sample[]

/** A metric of a family: its type, name without the prefix, help, and value. `label` is a label that its readings add. */
export type MetricRow<T> = readonly [
  type: 'gauge' | 'counter',
  name: string,
  help: string,
  read: (source: T) => Reading,
  label?: string,
]

interface Family<T> {
  readonly prefix: string
  /** Labels that all metrics of the family have. */
  readonly labels: readonly string[]
  /** The sources to measure, with the values of these labels. */
  readonly sources: () => readonly (readonly [labels: Labels, source: T])[]
}

/** Registers metrics that are read from the same sources: a row for each. */
export function family<T>(metrics: Registry, { labels, prefix, sources }: Family<T>, rows: readonly MetricRow<T>[]) {
  const types = { gauge, counter }
  for (const [type, name, help, read, label] of rows) {
    types[type](metrics, `${prefix}${name}`, help, label === undefined ? labels : [...labels, label], () =>
      sources().flatMap(([own, source]): readonly Sample[] => {
        const reading = read(source)
        if (reading === null) return []
        if (typeof reading === 'number') return [[own, reading]]
        return reading.map(([more, value]): Sample => [{ ...own, ...more }, value])
      }),
    )
  }
}

/** How many of `values` there are of each kind, as samples of a label. Kinds in `known` are there even without any. */
export function tally(label: string, values: readonly string[], known: readonly string[] = []): Sample[] {
  const counts = new Map(known.map((kind) => [kind, 0]))
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].map(([kind, count]) => [{ [label]: kind }, count])
}
