import { createHash } from 'node:crypto'
import { startMediaProcess } from '../../../media/process/host.ts'
import { TEST_AUTHORITY } from '../../../media/testing/certificates.ts'
import type { DesiredStream, Destination, MediaLog } from '../../../media/types.ts'
import { end, ffmpeg } from '../../support/rtmp-servers.ts'
import { processTree } from '../support/process.ts'
import { startNginx } from './nginx.ts'
import type { Ingest } from './source.ts'

/** The task: relay each of `streams` to its share of the destinations, which are keys of one sink. */
export interface Plan {
  readonly streams: number
  /** The total over all streams. */
  readonly destinations: number
  readonly sinkPort: number
  /** Whether the sink uses RTMPS. */
  readonly secure?: boolean
  /** A folder for files of this run. */
  readonly folder: string
}

/** A relay that is ready for its publishers. */
export interface Relay {
  /** One URL per stream. */
  readonly ingests: readonly Ingest[]
  /** The processes whose CPU time and memory count. */
  pids(): number[]
  /** Adds a destination to the first stream while it is live, if the relay can. */
  addDestination?(key: string): void
  stop(): Promise<void>
}

export interface Side {
  readonly name: string
  start(plan: Plan): Promise<Relay>
}

/** The keys at the sink, `d<stream>-<index>`. */
function keysOf(plan: Plan, stream: number): string[] {
  return Array.from({ length: plan.destinations / plan.streams }, (_, index) => `d${stream}-${index}`)
}

const sinkOf = ({ secure, sinkPort }: Plan) => `${secure ? 'rtmps' : 'rtmp'}://127.0.0.1:${sinkPort}/live`

const streamsOf = (plan: Plan) => Array.from({ length: plan.streams }, (_, stream) => stream)

function logger(level: string): MediaLog['info'] {
  return (fields, message) => console.error(level, message, JSON.stringify(fields))
}
const quiet = (): void => {}
const log: MediaLog = { debug: quiet, info: quiet, warn: logger('warn'), error: logger('error') }

/**
 * Crier's media process, started as a child like in the server. The host's work on a few events per second does not
 * count.
 */
export const crier: Side = {
  name: 'Crier',
  async start(plan) {
    const at = (key: string): Destination => ({ id: key, url: sinkOf(plan), streamKey: key })
    const streams = streamsOf(plan).map((stream): DesiredStream & { key: string } => {
      const path = `benchmark${stream}`
      const key = `${path}-${'0123456789abcdef'.repeat(2)}`
      const keyHash = createHash('sha256').update(key).digest('hex')
      return { key, streamId: path, path, keyHash, live: true, destinations: keysOf(plan, stream).map(at) }
    })
    const host = startMediaProcess({
      host: '127.0.0.1',
      port: 0,
      allowPrivateAddresses: true,
      destinationCa: TEST_AUTHORITY,
      log,
      onEvent: quiet,
      authorizePublish: async ({ keyHash }) => {
        const stream = streams.find((one) => one.keyHash === keyHash)
        return stream === undefined ? { allowed: false, reason: 'unknown' } : { allowed: true, stream }
      },
      env: profileTo(process.env['CPU_PROF']),
    })
    const { port } = await host.ready
    return {
      ingests: streams.map(({ key }) => ({ port, app: 'live', key })),
      pids: () => [host.pid() as number],
      addDestination(key) {
        const [first] = streams
        if (first !== undefined) host.apply({ ...first, destinations: [...first.destinations, at(key)] })
      },
      stop: () => host.close(),
    }
  },
}

/** The folder for a CPU profile of the media process, written when it exits. */
function profileTo(folder: string | undefined): Record<string, string> {
  return folder === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` }
}

/** nginx-rtmp with a `push` per destination. It does not support RTMPS. */
export const nginxPush: Side = {
  name: 'nginx-rtmp push',
  async start(plan) {
    const nginx = await startNginx(
      plan.folder,
      streamsOf(plan).map((stream) => ({
        name: `app${stream}`,
        push: keysOf(plan, stream).map((key) => `${sinkOf(plan)}/${key}`),
      })),
    )
    const ingests = streamsOf(plan).map((stream) => ({ port: nginx.port, app: `app${stream}`, key: 'source' }))
    return { ingests, pids: () => nginx.pids(), stop: () => nginx.stop() }
  },
}

/** One `ffmpeg -c copy` per destination, behind an nginx-rtmp that receives the stream. */
export const ffmpegEach: Side = {
  name: 'one ffmpeg per destination',
  async start(plan) {
    const applications = streamsOf(plan).map((stream) => ({ name: `app${stream}`, push: [] }))
    const nginx = await startNginx(plan.folder, applications)
    const children = streamsOf(plan).flatMap((stream) =>
      keysOf(plan, stream).map((key) => {
        const from = `rtmp://127.0.0.1:${nginx.port}/app${stream}/source`
        const to = `${sinkOf(plan)}/${key}`
        return ffmpeg(['-loglevel', 'fatal', '-i', from, '-map', '0', '-c', 'copy', '-f', 'flv', to])
      }),
    )
    return {
      ingests: streamsOf(plan).map((stream) => ({ port: nginx.port, app: `app${stream}`, key: 'source' })),
      pids: () => [...nginx.pids(), ...children.flatMap(({ pid }) => processTree(pid as number))],
      async stop() {
        for (const child of children) await end(child, 'SIGKILL')
        await nginx.stop()
      },
    }
  },
}

/** No relay: the publisher sends to the sink directly. Shows the effect of the machine alone. */
export const direct: Side = {
  name: 'no relay',
  async start(plan) {
    return { ingests: [{ port: plan.sinkPort, app: 'live', key: 'd0-0' }], pids: () => [], stop: async () => {} }
  },
}
