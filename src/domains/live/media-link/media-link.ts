import type {
  MediaEvent,
  MediaNodeStatus,
  PublishDecision,
  PublishRequest,
  DesiredStream,
} from '../../../../media/types.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { DesiredState, DesiredStates } from './desired-states.ts'
import type { MediaDirectory, MediaReport, Placement, StreamNotice, StreamNotices } from '../media-nodes/index.ts'
import { Admission } from './admission.ts'
import { Announcer } from './announcer.ts'
import { exhaustMinutes } from '../streams/index.ts'
import { MinutesWarnings } from './minutes-warnings.ts'
import { Observer } from './observer.ts'
import { NodePlayouts } from '../playout/index.ts'
import { NodeRecordings, type RecordingSettings } from '../recording/index.ts'
import { SessionSampler } from '../session-figures/index.ts'
import { NodeSlates } from './node-slates.ts'
import { reasonOf, TallyLog } from '../../../tools/tally-log.ts'
import type { Foundation } from '../../../foundation.ts'
import { UsageMeter } from './usage-meter.ts'
import { ViewerPeaks } from './viewer-peaks.ts'

/** The methods of the media process that the link needs. */
export interface LinkedHost {
  apply(stream: DesiredStream): void
  remove(streamId: string): void
  retry(streamId: string, destinationId: string): void
  status(): Promise<MediaNodeStatus>
  onAvailability(listener: (available: boolean) => void): unknown
  onUnresponsive(listener: (since: string | null) => void): unknown
}

type Dependencies = Pick<Foundation, 'clock' | 'database' | 'log' | 'scratch' | 'storage' | 'turns'> & {
  readonly plans: PlanService
  readonly desired: DesiredStates
  readonly notices: StreamNotices
  readonly directory: MediaDirectory
  /** The host at which API nodes read previews of this node. Absent where they cannot. */
  readonly previewHost?: string
  /** The server at which publishers reach this node, if it has its own. */
  readonly ingestUrl?: string | undefined
  /** Maximum number of publishers on this node. */
  readonly mostStreams: number
  readonly placement: Placement
  readonly recording: RecordingSettings
  /** Redraws a picture of the storage to a local path. */
  readonly drawSlate: (key: string, path: string) => Promise<void>
}

/** A stream that the media process knows. */
interface TrackedStream {
  readonly workspaceId: string
  /** Public part of the key that was last admitted. */
  path: string
  /** Monotonic: when a publisher was last admitted. */
  admittedAt: number
  refreshing: boolean
  refreshAgain: boolean
}

const SECOND_MS = 1_000
/** Notices can get lost, so every stream is read again after this many ticks. */
const RECONCILE_EVERY = 10
/** A stream without a publisher is dropped after this time. */
const IDLE_MS = 60_000
const RETRY_MS = 500

/**
 * Connects the database, which holds the desired state, with the media process of this node, which applies it and
 * reports the actual state. Both directions carry whole states, so a lost message is repaired by the next one.
 */
export class MediaLink {
  readonly nodeId: string
  readonly #dependencies: Dependencies
  readonly #observer: Observer
  readonly #admission: Admission
  readonly #meter: UsageMeter
  readonly #warnings: MinutesWarnings
  readonly #peaks: ViewerPeaks
  readonly #sampler: SessionSampler
  readonly #playouts: NodePlayouts
  readonly #recordings: NodeRecordings
  readonly #slates: NodeSlates
  readonly #announcer: Announcer
  readonly #tally: TallyLog
  readonly #tracked = new Map<string, TrackedStream>()
  readonly #timer: NodeJS.Timeout
  readonly #endNotices: () => void
  #host: LinkedHost | undefined
  #available = false
  /** ISO 8601: since when the media process has not answered. Null while it answers. */
  #silentSince: string | null = null
  #ticks = 0
  #meterFailing = false
  #closed = false

  constructor(dependencies: Dependencies) {
    const { clock, log, notices, plans, database, turns } = dependencies
    this.#dependencies = dependencies
    this.nodeId = uuidv7(clock.now())
    const refresh = (streamId: string) => this.#refresh(streamId)
    this.#playouts = new NodePlayouts({ ...dependencies, nodeId: this.nodeId, refresh })
    const tally = (this.#tally = new TallyLog(log))
    this.#recordings = new NodeRecordings({ ...dependencies.recording, turns, log, refresh })
    this.#slates = new NodeSlates({ ...dependencies, draw: dependencies.drawSlate, refresh })
    this.#observer = new Observer({ nodeId: this.nodeId, turns, clock, tally })
    this.#admission = new Admission({ ...dependencies, nodeId: this.nodeId, tally })
    this.#peaks = new ViewerPeaks(database)
    this.#sampler = new SessionSampler(database, clock)
    this.#announcer = new Announcer(turns, log)
    this.#warnings = new MinutesWarnings(turns, log)
    this.#meter = new UsageMeter({
      clock,
      database,
      log,
      minutesOf: async (ownerId) => (await plans.limitsOf(ownerId)).streamingMinutesPerMonth,
      onUsedUp: ({ streamId, charge: { workspaceId, sessionId } }) =>
        this.#try(turns.system(workspaceId, exhaustMinutes, { streamId, sessionId }), 'a stream could not be ended'),
      onRunningOut: ({ streamId, charge: { workspaceId, sessionId } }, minutesLeft) =>
        this.#warnings.give(workspaceId, { streamId, sessionId, minutesLeft }),
    })
    this.#endNotices = notices.listen((notice) => this.#onNotice(notice), this.#refreshAll)
    this.#timer = setInterval(() => void this.#tick(), SECOND_MS)
    this.#timer.unref()
  }

  /** The stream and workspace of a log line, found by its stream id or key path. */
  locate(fields: object): object {
    const { path, streamId } = fields as { readonly path?: unknown; readonly streamId?: unknown }
    for (const [id, tracked] of this.#tracked) {
      if (id === streamId || tracked.path === path) return { streamId: id, workspaceId: tracked.workspaceId }
    }
    return {}
  }

  /** Sets the media process, which calls `authorizePublish` and `onEvent` of this link. */
  attach(host: LinkedHost): void {
    this.#host = host
    this.#available = true
    host.onAvailability((available) => this.#availability(available))
    host.onUnresponsive((since) => this.#silence(since))
    // Placement depends on what the node has reported.
    void this.#announce().then(() => this.#takePlayouts())
    this.#try(this.#recordings.start(this.#refreshAll), 'recordings of an earlier process could not be imported')
  }

  /** Decides by the current state of the database whether a publisher may start. */
  readonly authorizePublish = async (request: PublishRequest): Promise<PublishDecision> => {
    const decision = await this.#admission.decide(request, this.#observer.ingests)
    const { path, remoteAddress } = request
    if (!decision.allowed) return { allowed: false, reason: decision.reason }
    const { state } = decision
    const stream = state ? this.#complete(state) : decision.stream
    // The path of the primary key, also for the backup key, because it changes with every arming.
    if (state) this.#admit(state, stream.path)
    this.#dependencies.log.info({ path, remoteAddress, streamId: stream.streamId }, 'a publisher was admitted')
    return { allowed: true, stream }
  }

  readonly onEvent = (event: MediaEvent): void => {
    const tracked = this.#tracked.get(event.streamId)
    switch (event.type) {
      case 'ingest.started':
        if (tracked) this.#observer.ingestStarted(event.streamId, tracked.workspaceId, event.sessionId, tracked.path)
        break
      case 'ingest.ended':
        this.#observer.ingestEnded(event.streamId, event.sessionId)
        this.#meter.end(event.sessionId)
        break
      case 'destination.changed':
        if (tracked) this.#observer.destinationChanged(event.streamId, tracked.workspaceId, event.destination)
        break
      case 'viewers.changed':
        this.#peaks.record(event.streamId, event.viewers)
        this.#sampler.sawViewers(event.streamId, event.viewers)
        break
      case 'usage':
        this.#meter.record(event.streamId, event.sessionId, event.liveMs)
        break
      default:
        if (tracked && this.#announcer.announce(tracked.workspaceId, event)) return
        this.#playouts.onEvent(event)
        this.#recordings.onEvent(event)
    }
  }

  /** Figures of the media process for the readiness check. */
  async probe(): Promise<Record<string, number>> {
    if (!this.#available || this.#host === undefined) throw new Error('the media process is restarting')
    if (this.#silentSince !== null) throw new Error(`the media process has not answered since ${this.#silentSince}`)
    const status = await this.#host.status()
    return {
      rtmpPort: status.rtmpPort,
      connections: status.connections,
      streams: status.streams.filter((stream) => stream.ingest !== null).length,
    }
  }

  /** Writes everything that is left. Call it after the media process has closed. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    this.#endNotices()
    await this.#observer.close(2_000)
    this.#sampler.endAll()
    await this.#checkpoint()
    await this.#playouts.close()
    await this.#recordings.close(2_000)
    this.#tally.flush()
    this.#dependencies.directory.announce({ nodeId: this.nodeId, status: null, gone: true })
  }

  #admit(state: DesiredState, path: string): void {
    this.#track(state.stream.streamId, state.workspaceId, path)
    this.#charge(state)
  }

  #track(streamId: string, workspaceId: string, path: string): void {
    const admittedAt = this.#dependencies.clock.monotonic()
    const tracked = this.#tracked.get(streamId)
    if (tracked) {
      tracked.path = path
      tracked.admittedAt = admittedAt
    } else {
      this.#tracked.set(streamId, { workspaceId, path, admittedAt, refreshing: false, refreshAgain: false })
    }
  }

  /** Takes over playouts that no node has. */
  #takePlayouts(which: { streamId?: string; late?: boolean } = {}): void {
    if (this.#closed || !this.#available) return
    const take = async () => {
      for (const one of await this.#playouts.take(which)) {
        this.#track(one.streamId, one.workspaceId, one.path)
        this.#refresh(one.streamId)
      }
    }
    this.#try(take(), 'file broadcasts could not be claimed; trying again')
  }

  #charge({ ownerId, sessionId, stream, workspaceId }: DesiredState): void {
    this.#peaks.setSession(stream.streamId, sessionId ?? undefined)
    this.#sampler.setSession(stream.streamId, sessionId ?? undefined, this.#peaks.viewersOf(stream.streamId))
    this.#meter.setCharge(stream.streamId, sessionId === null ? undefined : { ownerId, sessionId, workspaceId })
  }

  #onNotice({ broadcast, retry, streamId }: StreamNotice): void {
    if (broadcast) this.#takePlayouts({ streamId })
    if (!this.#tracked.has(streamId)) return
    if (retry === undefined) this.#refresh(streamId)
    else this.#host?.retry(streamId, retry)
  }

  readonly #refreshAll = (): void => {
    for (const streamId of this.#tracked.keys()) this.#refresh(streamId)
  }

  /** Reads the desired state of a stream and applies it. Reads of one stream do not overlap. */
  #refresh(streamId: string): void {
    const tracked = this.#tracked.get(streamId)
    if (tracked === undefined || this.#closed) return
    if (tracked.refreshing) {
      tracked.refreshAgain = true
      return
    }
    tracked.refreshing = true
    tracked.refreshAgain = false
    void this.#read(streamId, tracked)
      .catch((error: unknown) => {
        const line = {
          level: 'warn',
          message: 'the desired state of a stream could not be read; trying again',
        } as const
        this.#tally.add({ ...line, reason: reasonOf(error), fields: { error, streamId } })
        setTimeout(() => this.#refresh(streamId), RETRY_MS).unref()
      })
      .finally(() => {
        tracked.refreshing = false
        if (tracked.refreshAgain) this.#refresh(streamId)
      })
  }

  /** The desired state with what only this node knows: files, recording and slate. */
  #complete(state: DesiredState): DesiredStream {
    return this.#slates.complete(state, this.#recordings.complete(state, this.#playouts.complete(state)))
  }

  async #read(streamId: string, tracked: TrackedStream): Promise<void> {
    const state = await this.#dependencies.desired.of(streamId)
    if (state !== undefined) {
      this.#slates.prepare(state)
      await Promise.all([this.#playouts.prepare(state), this.#recordings.prepare(state)])
    }
    this.#apply(streamId, tracked, state)
  }

  #apply(streamId: string, tracked: TrackedStream, state: DesiredState | undefined): void {
    if (state === undefined) return this.#drop(streamId)
    const { ingestNode, status } = state
    const playsFiles = this.#playouts.isMine(state)
    const movedAway = ingestNode !== null && ingestNode !== this.nodeId && this.#observer.isSettled(streamId)
    // The playout moves to the node of the publisher, so that only one of them feeds destinations.
    const yields = movedAway && playsFiles && this.#dependencies.directory.isThere(ingestNode)
    if (yields) this.#try(this.#playouts.yield(state), 'a file broadcast could not be moved to another node')
    if (movedAway && (yields || !playsFiles)) return this.#drop(streamId)
    const unusedFor = this.#dependencies.clock.monotonic() - tracked.admittedAt
    const isUnused = status === 'idle' && !this.#observer.hasIngest(streamId) && !playsFiles
    if (isUnused && unusedFor > IDLE_MS) return this.#drop(streamId)
    // A playout has no publisher that was admitted. It counts as sent with the current key.
    if (playsFiles) tracked.path = state.stream.path
    this.#charge(state)
    if (this.#available) this.#host?.apply(this.#complete(state))
  }

  #drop(streamId: string): void {
    this.#tracked.delete(streamId)
    this.#host?.remove(streamId)
    this.#observer.forget(streamId)
    this.#meter.forget(streamId)
    this.#peaks.forget(streamId)
    this.#sampler.forget(streamId)
    this.#slates.forget(streamId)
    this.#try(this.#playouts.forget(streamId), 'temporary files of a broadcast could not be deleted')
    this.#try(this.#recordings.forget(streamId), 'storage for a recording could not be released')
  }

  #silence(since: string | null): void {
    this.#silentSince = since
    this.#observer.silent(since)
    void this.#announce()
  }

  #availability(available: boolean): void {
    this.#available = available
    this.#silentSince = null
    if (available) {
      this.#dependencies.log.info({}, 'the media process is available again')
      this.#refreshAll()
      void this.#announce()
      return
    }
    this.#dependencies.log.error({}, 'the media process has ended and is being restarted')
    this.#meter.endAll()
    this.#observer.lostAll()
    this.#recordings.lostAll()
    this.#dependencies.directory.announce({ nodeId: this.nodeId, status: null })
  }

  async #tick(): Promise<void> {
    this.#ticks += 1
    if (this.#ticks % RECONCILE_EVERY === 0) {
      this.#refreshAll()
      this.#takePlayouts({ late: true })
    } else if (this.#playouts.isDue()) this.#takePlayouts()
    await Promise.all([this.#checkpoint(), this.#announce()])
  }

  async #announce(): Promise<void> {
    const { directory, log } = this.#dependencies
    if (this.#closed || this.#host === undefined) return
    try {
      const status = this.#available && this.#silentSince === null ? await this.#host.status() : null
      if (status !== null) this.#sampler.observe(status)
      if (!this.#closed) directory.announce(this.#report(this.#available ? status : null))
    } catch (error) {
      log.debug({ error }, 'the media process did not report its status')
      if (!this.#closed) directory.announce({ nodeId: this.nodeId, status: null })
    }
  }

  #report(status: MediaNodeStatus | null): MediaReport {
    const { previewHost } = this.#dependencies
    const port = status?.previewPort ?? null
    const previewAddress = port === null || previewHost === undefined ? null : `${previewHost}:${port}`
    const { ingestUrl, mostStreams } = this.#dependencies
    return { nodeId: this.nodeId, status, previewAddress, mostStreams, ...(ingestUrl && { ingestUrl }) }
  }

  async #checkpoint(): Promise<void> {
    try {
      await Promise.all([this.#meter.tick(), this.#peaks.write(), this.#sampler.write(), this.#playouts.checkpoint()])
      this.#meterFailing = false
    } catch (error) {
      if (!this.#meterFailing)
        this.#dependencies.log.error({ error }, 'streaming minutes could not be stored; trying again')
      this.#meterFailing = true
    }
  }

  #try(work: Promise<unknown>, failure: string): void {
    work.catch((error: unknown) => this.#dependencies.log.warn({ error }, failure))
  }
}
