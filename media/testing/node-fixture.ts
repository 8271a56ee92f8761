import { createHash } from 'node:crypto'
import type { DestinationState, DestinationStatus, MediaEvent, MediaLog, MediaNode } from '../types.ts'
import type { DesiredStream, Destination } from '../types.ts'
import { startMediaNode, type MediaNodeSettings } from '../node.ts'
import { DEFAULT_RELAY_LIMITS, type RelayLimits } from '../relay/limits.ts'
import { inputOfKey } from '../relay-stream.ts'
import { newKey } from './ingest-fixture.ts'
import { TestPublisher } from './publisher.ts'
import type { Sink } from './sink.ts'

/** For what must not happen to healthy peers on a busy machine. Tests of time-outs, stalls and holds choose shorter ones. */
const PATIENT_MS = 60_000

/** Durations for tests, in the same order as the default ones: short where every test would wait for them. */
export const FAST_LIMITS: RelayLimits = {
  ...DEFAULT_RELAY_LIMITS,
  timeouts: {
    resolveMs: PATIENT_MS,
    connectMs: PATIENT_MS,
    handshakeMs: PATIENT_MS,
    publishMs: PATIENT_MS,
    closeMs: 500,
  },
  backoff: { baseMs: 100, maxMs: 500 },
  stallMs: PATIENT_MS,
  provenMs: 200,
  steadyMs: 300,
  recoverMs: 500,
  holdMs: PATIENT_MS,
  // Also longer than a busy machine delays an encoder.
  takeOverMs: 1_500,
  failback: { steadyMs: 300, maxSteadyMs: 1_200, resetMs: 5_000 },
  slateAfterMs: 2_000,
  staleSessionMs: 50,
  maxStaleSessionMs: 150,
  tickMs: 50,
}

export interface NodeFixture {
  readonly node: MediaNode
  readonly port: number
  readonly events: MediaEvent[]
  /** All log lines, with their fields. */
  readonly lines: string[]
  /** The stream that the host knows. Its key is admitted. */
  stream: DesiredStream
  readonly key: string
  /** Changes the stream and applies it to the node. */
  change: (change: Partial<DesiredStream>) => void
  /** Connects a publisher and waits until it is admitted. */
  publish: (key?: string) => Promise<TestPublisher>
  destination: (id: string) => DestinationStatus
  /** The states of a destination in order. */
  states: (id: string) => DestinationState[]
}

/** Starts a real node on a free loopback port with one stream. */
export async function startNode(
  destinations: readonly Destination[],
  limits: Partial<RelayLimits> = {},
  settings: Partial<MediaNodeSettings> = {},
): Promise<NodeFixture> {
  const events: MediaEvent[] = []
  const lines: string[] = []
  const write =
    (level: string) =>
    (fields: object, message: string): void => {
      lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
    }
  const log: MediaLog = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const key = newKey()
  const node = await startMediaNode({
    host: '127.0.0.1',
    port: 0,
    allowPrivateAddresses: true,
    log,
    onEvent: (event) => events.push(event),
    authorizePublish: async ({ keyHash }) =>
      inputOfKey(fixture.stream, keyHash) !== null
        ? { allowed: true, stream: fixture.stream }
        : { allowed: false, reason: 'unknown key' },
    limits: { relay: { ...FAST_LIMITS, ...limits } },
    ...settings,
  })
  const port = node.status().rtmpPort
  const fixture: NodeFixture = {
    node,
    port,
    events,
    lines,
    key,
    stream: { streamId: 'stream-1', path: key.split('-')[0]!, keyHash: hashOf(key), live: true, destinations },
    change(change) {
      fixture.stream = { ...fixture.stream, ...change }
      node.apply(fixture.stream)
    },
    async publish(publishKey = key) {
      const publisher = await TestPublisher.connect({ port })
      const status = await publisher.publish(publishKey)
      if (status?.code !== 'NetStream.Publish.Start') throw new Error(`not admitted: ${status?.description}`)
      publisher.setChunkSize(65_536)
      return publisher
    },
    destination(id) {
      const status = node.status().streams[0]?.destinations.find((one) => one.id === id)
      if (status === undefined) throw new Error(`no destination ${id}`)
      return status
    },
    states: (id) =>
      events.flatMap((event) =>
        event.type === 'destination.changed' && event.destination.id === id ? [event.destination.state] : [],
      ),
  }
  node.apply(fixture.stream)
  return fixture
}

export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** A destination whose server is a sink. */
export function destinationTo(sink: Sink, id = 'destination-1', streamKey = `key-of-${id}`): Destination {
  return { id, url: `rtmp://127.0.0.1:${sink.port}/live`, streamKey }
}

export interface NodeWithSinks extends NodeFixture {
  readonly sinks: readonly Sink[]
  close(): Promise<void>
}

/** Starts a node with a destination (`d0`, `d1` …) for each of the sinks. Closing it closes the sinks too. */
export async function startNodeWithSinks(
  sinks: readonly Sink[],
  limits: Partial<RelayLimits> = {},
  settings: Partial<MediaNodeSettings> = {},
): Promise<NodeWithSinks> {
  const destinations = sinks.map((sink, index) => destinationTo(sink, `d${index}`))
  const fixture = await startNode(destinations, limits, settings)
  // Not a copy, because `fixture.stream` changes.
  return Object.assign(fixture, {
    sinks,
    async close() {
      await fixture.node.close()
      for (const sink of sinks) await sink.close()
    },
  })
}
