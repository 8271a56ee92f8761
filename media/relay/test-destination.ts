import { audioSequenceHeader } from '../playout/flv-bodies.ts'
import { CHUNK_STREAM, encodeAbsolute, MESSAGE_TYPE, OUTGOING_CHUNK_SIZE } from '../rtmp/chunk-writer.ts'
import type { SlateClip } from '../slate/clip.ts'
import { SlateLoop } from '../slate/loop.ts'
import type { MediaMessage } from '../types.ts'
import type { FaultCode } from '../fault-codes.ts'
import { parseDestinationUrl } from '../../src/tools/destination-url.ts'
import type { Fault } from './fault.ts'
import { DEFAULT_RELAY_LIMITS } from './limits.ts'
import { PushConnection, type ConnectionTimeouts } from './push-connection.ts'
import { tableKey, TcpTable } from './tcp-table.ts'

/** The steps of a test, in order. `tls` only with `rtmps://`. */
export type TestStep = 'resolve' | 'connect' | 'tls' | 'handshake' | 'publish' | 'media'

/** How far a test of a destination got. Plain data. */
export interface DestinationTest {
  /** The steps that passed, in order. */
  readonly passed: readonly TestStep[]
  /** The step that failed. Null if all passed. */
  readonly failed: TestStep | null
  readonly fault: { readonly code: FaultCode; readonly message: string } | null
  /** `silence`: no picture could be rendered. */
  readonly sent: 'slate' | 'silence'
  readonly bytesSent: number
  /** By RTMP, or by TCP if the server sends no acknowledgements. */
  readonly bytesAcknowledged: number
  readonly ms: number
}

export interface DestinationTestOptions {
  readonly url: string
  /** A secret. */
  readonly streamKey: string
  readonly allowPrivateAddresses: boolean
  /** Undefined: sends silence. */
  readonly clip: SlateClip | undefined
  /** How long media is sent. */
  readonly mediaMs: number
  readonly timeouts?: ConnectionTimeouts
  /** Certificate authorities that replace the system's, PEM. For tests. */
  readonly ca?: string | undefined
}

const STEP_MS = 20
/** How long the acknowledgement of the last byte is awaited. */
const SETTLE_MS = 1_000
/** AudioSpecificConfig of AAC-LC, 48 kHz, stereo. */
const STEREO = Buffer.from('1190', 'hex')
const SILENCE: MediaMessage = {
  kind: 'audio',
  timestamp: 0,
  payload: audioSequenceHeader(STEREO),
  isSequenceHeader: true,
  isKeyframe: false,
}
/** Its one frame is not sent. */
const NO_PICTURE: SlateClip = { fps: 1, configuration: Buffer.alloc(0), frames: [Buffer.alloc(0)] }
const STEP_OF = { resolving: 'resolve', connecting: 'connect', handshake: 'handshake', publishing: 'publish' } as const

/**
 * Connects to a destination, publishes for some seconds, and closes. It takes at most the sum of the time-outs and
 * `mediaMs`, and never retries.
 * @throws DestinationUrlError
 */
export async function testDestination(options: DestinationTestOptions): Promise<DestinationTest> {
  const { allowPrivateAddresses, ca, clip, mediaMs, streamKey } = options
  const target = parseDestinationUrl(options.url)
  const { provenMs, timeouts: defaults } = DEFAULT_RELAY_LIMITS
  const timeouts = options.timeouts ?? defaults
  const startedAt = performance.now()
  const passed: TestStep[] = []
  let step = 'resolve' as TestStep
  const ended = Promise.withResolvers<Fault | null>()
  let stop = (): void => undefined
  const connection = new PushConnection(
    { target, streamKey, allowPrivateAddresses, timeouts, ca, provenMs, expectsAcknowledgements: false },
    {
      onStep: (next) => {
        if (STEP_OF[next] === step) return
        passed.push(step)
        if (next === 'handshake' && target.secure) passed.push('tls')
        step = STEP_OF[next]
      },
      onReady: (messageStreamId) => {
        passed.push('publish')
        step = 'media'
        connection.progress.beginMedia(performance.now())
        stop = sendMedia(connection, messageStreamId, clip, mediaMs, () => ended.resolve(null))
      },
      onAcknowledgement: () => undefined,
      onDrain: () => undefined,
      onFault: (fault) => ended.resolve(fault),
    },
  )
  connection.start()
  const fault = await ended.promise
  stop()
  const { progress } = connection
  const bytesSent = progress.sentBytes
  if (fault === null) {
    await settle(connection)
    await connection.close()
    if (progress.hasMediaArrived) passed.push('media')
  }
  const isComplete = passed.includes('media')
  if (fault?.code === 'tls_failed' && step === 'connect') {
    passed.push('connect')
    step = 'tls'
  }
  const stalled: DestinationTest['fault'] = {
    code: 'stalled',
    message: 'The server accepted the stream, but acknowledged no media.',
  }
  const found = isComplete ? null : fault === null ? stalled : { code: fault.code, message: fault.message }
  return {
    passed,
    failed: isComplete ? null : step,
    fault: found,
    sent: clip === undefined ? 'silence' : 'slate',
    bytesSent,
    bytesAcknowledged: Math.min(bytesSent, progress.acknowledgedBytes),
    ms: Math.round(performance.now() - startedAt),
  }
}

/** Sends media at its pace. @returns what stops it */
function sendMedia(
  connection: PushConnection,
  streamId: number,
  clip: SlateClip | undefined,
  ms: number,
  done: () => void,
): () => void {
  const loop = new SlateLoop(clip ?? NO_PICTURE, [SILENCE])
  const write = (message: MediaMessage): void => {
    if (clip === undefined && message.kind === 'video') return
    const { kind, payload, timestamp } = message
    const outgoing = { type: MESSAGE_TYPE[kind], chunkStreamId: CHUNK_STREAM[kind], payload }
    connection.write(encodeAbsolute(outgoing, { timestamp, streamId }, OUTGOING_CHUNK_SIZE))
  }
  loop.headers().forEach(write)
  const since = performance.now()
  const timer = setInterval(() => {
    const now = performance.now() - since
    // A server that reads nothing gets no more than the socket's buffer holds.
    const due = loop.due(Math.min(now, ms))
    if (!connection.needsDrain) due.forEach(write)
    if (now < ms) return
    clearInterval(timer)
    done()
  }, STEP_MS)
  return () => clearInterval(timer)
}

/** Waits until what was sent is acknowledged, within bounds. */
async function settle(connection: PushConnection): Promise<void> {
  const table = new TcpTable()
  const until = performance.now() + SETTLE_MS
  const { progress } = connection
  while (performance.now() < until && connection.socket !== null) {
    const sent = progress.sentBytes
    const key = tableKey(connection.socket)
    const inKernel = key === null ? 0 : ((await table.read())?.get(key) ?? 0)
    progress.noteTcpSample(sent, connection.bufferedBytes + inKernel, performance.now())
    if (connection.bufferedBytes + inKernel === 0) return
    await new Promise((resolve) => {
      setTimeout(resolve, STEP_MS)
    })
  }
}
