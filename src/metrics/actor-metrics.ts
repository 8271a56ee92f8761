import { Counter, Gauge, type Histogram, type Registry } from 'prom-client'
import type { Actors, ActorStats } from '../../actors/index.ts'
import { watch } from '../http/metrics.ts'

type HistogramData = ActorStats['latency']
type ClusterStats = NonNullable<ActorStats['cluster']>

/** Figures of the actors of this node, read when they are scraped. */
export function watchActors(metrics: Registry, actors: Actors): void {
  watch(metrics, 'crier_actors_active', 'Actors in memory', () => actors.stats().active)
  watch(metrics, 'crier_actors_waiting', 'Turns that wait in mailboxes', () => actors.stats().waiting)
  watch(
    metrics,
    'crier_actors_quarantined',
    'Actors whose activation keeps failing',
    () => actors.stats().quarantined.length,
  )
  for (const [field, help] of Object.entries(COUNTED)) {
    count(metrics, `crier_actors_${field}_total`, help, () => actors.stats()[field as keyof typeof COUNTED])
  }
  histogram(metrics, 'crier_actors_turn_seconds', 'Time from a turn’s arrival to its answer', () =>
    inSeconds(actors.stats().latency),
  )
  histogram(metrics, 'crier_actors_batch_turns', 'Turns that shared a transaction', () => actors.stats().batchSize)
  const { cluster } = actors.stats()
  if (cluster) watchCluster(metrics, () => actors.stats().cluster ?? cluster)
}

/** Of the driver for several nodes. */
function watchCluster(metrics: Registry, read: () => ClusterStats): void {
  watch(metrics, 'crier_actors_owned', 'Actors that this node owns', () => read().owned)
  watch(metrics, 'crier_nodes', 'Nodes that live', () => read().nodes)
  watch(metrics, 'crier_lease_live', '1 while this node may act for its actors', () => Number(read().live))
  watch(metrics, 'crier_lease_left_seconds', 'Time until the node fences itself', () => read().leaseLeftMs / 1_000)
  watch(metrics, 'crier_links_in_flight', 'Turns that other nodes have been asked for', () =>
    read().links.reduce((sum, link) => sum + link.inFlight, 0),
  )
  watch(metrics, 'crier_links_buffered_bytes', 'Bytes that wait to be sent to other nodes', () =>
    read().links.reduce((sum, link) => sum + link.buffered, 0),
  )
  const links = new Gauge({
    name: 'crier_links',
    help: 'Links to other nodes, by state',
    labelNames: ['state'],
    registers: [],
    collect() {
      for (const state of ['open', 'connecting', 'closed']) {
        this.set({ state }, read().links.filter((link) => link.state === state).length)
      }
    },
  })
  metrics.registerMetric(links)
  for (const [field, { name, help }] of Object.entries(COUNTED_IN_CLUSTER)) {
    count(metrics, `crier_${name}_total`, help, () => read()[field as keyof typeof COUNTED_IN_CLUSTER])
  }
}

const COUNTED = {
  activations: 'Times an actor was claimed',
  turns: 'Turns that were run',
  batches: 'Transactions in which they ran',
  fenced: 'Times another owner had an actor in between',
  overloaded: 'Turns refused because too many waited',
  expired: 'Turns dropped because they waited too long',
  unknown: 'Turns of which nobody could say in time whether they had taken effect',
} as const satisfies Partial<Record<keyof ActorStats, string>>

const COUNTED_IN_CLUSTER = {
  lostLeases: { name: 'lease_lost', help: 'Times this node lost its lease' },
  forwarded: { name: 'actors_forwarded', help: 'Turns sent to the node that owns the actor' },
  received: { name: 'actors_received', help: 'Turns that came from other nodes' },
  resent: { name: 'actors_resent', help: 'Turns sent again under the same id, their outcome being unknown' },
  handedOver: { name: 'actors_handed_over', help: 'Actors given to another node' },
} as const satisfies Partial<Record<keyof ClusterStats, { name: string; help: string }>>

/** A counter of something that counts for itself. */
function count(metrics: Registry, name: string, help: string, read: () => number): void {
  let told = 0
  const counter = new Counter({
    name,
    help,
    registers: [],
    collect() {
      const now = read()
      this.inc(now - told)
      told = now
    },
  })
  metrics.registerMetric(counter)
}

/** A histogram of something that fills its own buckets. */
function histogram(metrics: Registry, name: string, help: string, read: () => HistogramData): void {
  const about = { name, help, type: 'histogram', aggregator: 'sum' }
  const metric = { ...about, get: async () => ({ ...about, values: valuesOf(name, read()) }), reset: () => undefined }
  metrics.registerMetric(metric as unknown as Histogram)
}

function valuesOf(name: string, { bounds, counts, sum, count: total }: HistogramData) {
  let below = 0
  const buckets = counts.map((here, index) => {
    below += here
    return { metricName: `${name}_bucket`, labels: { le: bounds[index] ?? '+Inf' }, value: below }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: {}, value: sum },
    { metricName: `${name}_count`, labels: {}, value: total },
  ]
}

function inSeconds({ bounds, sum, ...rest }: HistogramData): HistogramData {
  return { ...rest, bounds: bounds.map((ms) => ms / 1_000), sum: sum / 1_000 }
}
