import { Counter, Gauge, type Histogram, type Registry } from 'prom-client'
import type { Actors, ActorStats } from '../../actors/index.ts'
import { watch } from '../http/metrics.ts'

type HistogramData = ActorStats['latency']
type ClusterStats = NonNullable<ActorStats['cluster']>

/** Metrics of this node's actors, read on each scrape. */
export function watchActors(metrics: Registry, actors: Actors): void {
  watch(metrics, 'crier_actors_active', 'Actors in memory', () => actors.stats().active)
  watch(metrics, 'crier_actors_waiting', 'Turns waiting in mailboxes', () => actors.stats().waiting)
  watch(
    metrics,
    'crier_actors_quarantined',
    'Actors whose activation fails repeatedly',
    () => actors.stats().quarantined.length,
  )
  for (const [field, help] of Object.entries(COUNTED)) {
    count(metrics, `crier_actors_${field}_total`, help, () => actors.stats()[field as keyof typeof COUNTED])
  }
  histogram(metrics, 'crier_actors_turn_seconds', 'Time from a turn’s arrival to its reply', () =>
    inSeconds(actors.stats().latency),
  )
  histogram(metrics, 'crier_actors_batch_turns', 'Turns per transaction', () => actors.stats().batchSize)
  const { cluster } = actors.stats()
  if (cluster) watchCluster(metrics, () => actors.stats().cluster ?? cluster)
}

/** Metrics of the multi-node driver. */
function watchCluster(metrics: Registry, read: () => ClusterStats): void {
  watch(metrics, 'crier_actors_owned', 'Actors owned by this node', () => read().owned)
  watch(metrics, 'crier_nodes', 'Live nodes', () => read().nodes)
  watch(metrics, 'crier_lease_live', '1 while this node holds its lease', () => Number(read().live))
  watch(metrics, 'crier_lease_left_seconds', 'Time until the node fences itself', () => read().leaseLeftMs / 1_000)
  watch(metrics, 'crier_links_in_flight', 'Turns sent to other nodes and not answered yet', () =>
    read().links.reduce((sum, link) => sum + link.inFlight, 0),
  )
  watch(metrics, 'crier_links_buffered_bytes', 'Bytes waiting to be sent to other nodes', () =>
    read().links.reduce((sum, link) => sum + link.buffered, 0),
  )
  const links = new Gauge({
    name: 'crier_links',
    help: 'Connections to other nodes by state',
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
  turns: 'Executed turns',
  batches: 'Transactions that executed turns',
  fenced: 'Commits that failed because another node had taken over the actor',
  overloaded: 'Turns refused because too many were waiting',
  expired: 'Turns dropped because they waited too long',
  unknown: 'Turns whose outcome could not be determined in time',
} as const satisfies Partial<Record<keyof ActorStats, string>>

const COUNTED_IN_CLUSTER = {
  lostLeases: { name: 'lease_lost', help: 'Times this node lost its lease' },
  forwarded: { name: 'actors_forwarded', help: 'Turns sent to the node that owns the actor' },
  received: { name: 'actors_received', help: 'Turns received from other nodes' },
  resent: { name: 'actors_resent', help: 'Turns sent again under the same id because their outcome was unknown' },
  handedOver: { name: 'actors_handed_over', help: 'Actors handed over to another node' },
} as const satisfies Partial<Record<keyof ClusterStats, { name: string; help: string }>>

/** A counter whose value is kept elsewhere. */
function count(metrics: Registry, name: string, help: string, read: () => number): void {
  let reported = 0
  const counter = new Counter({
    name,
    help,
    registers: [],
    collect() {
      const now = read()
      this.inc(now - reported)
      reported = now
    },
  })
  metrics.registerMetric(counter)
}

/** A histogram whose buckets are kept elsewhere. */
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
