import { randomBytes, timingSafeEqual } from 'node:crypto'
import { authorize } from '../ingest/authorize.ts'
import { DEFAULT_INGEST_LIMITS, type IngestLimits } from '../ingest/limits.ts'
import type { Publisher } from '../ingest/publisher.ts'
import { listenError } from '../listen.ts'
import { logWith } from '../log.ts'
import type { Viewers } from '../preview/viewers.ts'
import type { PictureSize } from '../rtmp/sps.ts'
import { TallyLog } from '../tally-log.ts'
import type { MediaLog, MediaNodeOptions, WhipReply, WhipRequest, WhipSessionStatus, WhipSettings } from '../types.ts'
import { completeAnswer, fragmentUfrag, isFragment, type Announced } from './sdp/answer.ts'
import { filterOffer, OfferError, type FilteredOffer } from './sdp/offer.ts'
import { OFFER_REFUSED } from './child/protocol.ts'
import { checkPort } from './udp-port.ts'
import { Watching, type WatchReply } from './watch/watching.ts'
import { WhipProcess, type LostSessions } from './whip-process.ts'
import { WhipSession } from './whip-session.ts'

export interface WhipIngestOptions {
  readonly settings: WhipSettings
  readonly authorizePublish: MediaNodeOptions['authorizePublish']
  /** Takes a client that has connected. */
  readonly onPublisher: (publisher: Publisher) => void
  /** Monotonic milliseconds of the last frame that the stream's first publisher sent; null without one. */
  readonly lastFrameAt: (streamId: string) => number | null
  /** In which size the stream's destinations have its pictures; null when they have none. */
  readonly pictureSize: (streamId: string) => PictureSize | null
  /** Sessions of a stream ended because the process that WebRTC runs in did. */
  readonly onLost: (lost: LostSessions) => void
  readonly limits?: Partial<IngestLimits> | undefined
  readonly log: MediaLog
}

export interface WhipIngest {
  /** The UDP port. */
  readonly port: number
  /** Of clients, connected or about to. */
  sessions(): WhipSessionStatus[]
  /** Never throws: what went wrong is in the reply. */
  request(request: WhipRequest): Promise<WhipReply>
  /** Lets somebody watch a stream. Never rejects. @param current its viewers, as long as it is here */
  watch(streamId: string, current: () => Viewers | undefined, sdp: string): Promise<WatchReply>
  /** Ends that. @returns whether there was such a session */
  endWatch(session: string): boolean
  /** The process that WebRTC runs in; undefined while none is needed. */
  pid(): number | undefined
  close(): Promise<void>
}

type Offer = Extract<WhipRequest, { type: 'offer' }>
type Follow = Exclude<WhipRequest, Offer>

/** How long an answer may take, with the start of the process that gives it. */
const ANSWER_MS = 10_000
/** A publisher that has sent nothing for this long may be taken the place of. */
const BUSY_MS = 2_000
const MOST_SESSIONS = 64

/** Takes publishers by WHIP (RFC 9725). Rejects when the UDP port cannot be had. */
export async function startWhipIngest(options: WhipIngestOptions): Promise<WhipIngest> {
  const { host, orFree = false, port } = options.settings
  try {
    return new Ingest(options, await checkPort(host, port))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE' && orFree) return new Ingest(options, await checkPort(host, 0))
    const settings = { port: 'WHIP_PORT', host: 'RTMP_HOST' }
    const { message } = listenError(error, { host, port, settings })
    throw new Error(`UDP: ${message}`, { cause: error })
  }
}

class Ingest implements WhipIngest {
  readonly port: number
  readonly #options: WhipIngestOptions
  readonly #process: WhipProcess
  readonly #announced: Announced | null
  readonly #sessions = new Map<string, WhipSession>()
  readonly #watching: Watching
  readonly #tally: TallyLog

  constructor(options: WhipIngestOptions, port: number) {
    const { announced, host } = options.settings
    this.port = port
    this.#tally = new TallyLog(options.log)
    this.#options = options
    this.#process = new WhipProcess({ host, port }, options.log, options.onLost)
    this.#announced = announced === undefined ? null : { port, ...announced }
    this.#watching = new Watching({
      process: this.#process,
      announced: this.#announced,
      ffmpeg: options.settings.ffmpeg?.path,
      log: options.log,
    })
  }

  sessions(): WhipSessionStatus[] {
    return [...this.#sessions.values()].map(({ publisher, streamId, tracks }) => ({
      streamId,
      connected: publisher !== null,
      tracks,
    }))
  }

  pid(): number | undefined {
    return this.#process.pid
  }

  watch(streamId: string, current: () => Viewers | undefined, sdp: string): Promise<WatchReply> {
    return this.#watching.open(streamId, current, sdp)
  }

  endWatch(session: string): boolean {
    return this.#watching.end(session)
  }

  async request(request: WhipRequest): Promise<WhipReply> {
    return request.type === 'offer' ? this.#offer(request) : this.#follow(request)
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) session.drop('shutdown')
    this.#watching.close()
    this.#tally.flush()
    await this.#process.stop()
  }

  async #offer(request: Offer): Promise<WhipReply> {
    const { keyHash, path, remoteAddress, sdp } = request
    const { authorizePublish, limits, log } = this.#options
    const timeoutMs = limits?.authorizeTimeoutMs ?? DEFAULT_INGEST_LIMITS.authorizeTimeoutMs
    let failed = false
    const decision = await authorize(
      authorizePublish,
      { path, keyHash, remoteAddress, via: 'whip' },
      timeoutMs,
      (error) => {
        failed = true
        const fields = { path, remoteAddress }
        this.#tally.add({ level: 'warn', message: 'publisher could not be checked', reason: error.message, fields })
      },
    )
    if (!decision.allowed) {
      const code = failed ? 'unavailable' : decision.later ? 'refused' : 'unauthorized'
      return { ok: false, code, message: decision.reason }
    }
    let offer: FilteredOffer
    try {
      offer = filterOffer(sdp)
    } catch (error) {
      if (error instanceof OfferError) return { ok: false, code: error.code, message: error.message }
      throw error
    }
    const { stream } = decision
    if (this.#isBusy(stream.streamId)) {
      return { ok: false, code: 'busy', message: 'Somebody is publishing this stream already.' }
    }
    this.#dropOthers(stream.streamId)
    if (this.#sessions.size >= MOST_SESSIONS) {
      return { ok: false, code: 'full', message: `This node takes ${MOST_SESSIONS} WHIP sessions at a time.` }
    }
    const session = new WhipSession({
      sessionId: randomBytes(16).toString('hex'),
      path,
      keyHash,
      remoteAddress,
      stream,
      offer,
      normalise: request.normalise,
      ffmpeg: this.#options.settings.ffmpeg ?? null,
      doctor: limits?.doctor ?? DEFAULT_INGEST_LIMITS.doctor,
      log: logWith(log, { path, streamId: stream.streamId }),
      hangUp: () => this.#process.close(session.sessionId),
      onOver: () => this.#sessions.delete(session.sessionId),
    })
    return this.#open(session, offer)
  }

  /** Whether a publisher sends right now; one that has fallen silent makes room, as it does by RTMP. */
  #isBusy(streamId: string): boolean {
    const lastFrameAt = this.#options.lastFrameAt(streamId)
    return lastFrameAt !== null && performance.now() - lastFrameAt < BUSY_MS
  }

  /** A client that comes again, before its last session was known to be over. */
  #dropOthers(streamId: string): void {
    for (const session of this.#sessions.values()) if (session.streamId === streamId) session.drop('replaced')
  }

  async #open(session: WhipSession, offer: FilteredOffer): Promise<WhipReply> {
    const { etag, sessionId } = session
    const answered = Promise.withResolvers<WhipReply>()
    const timer = setTimeout(() => session.drop('no answer in time'), ANSWER_MS)
    this.#sessions.set(sessionId, session)
    this.#process.open(
      sessionId,
      { sdp: offer.sdp, video: offer.video, audio: offer.audio, routing: offer.routing },
      {
        streamId: session.streamId,
        onAnswer: (sdp) => {
          answered.resolve({ ok: true, session: sessionId, etag, sdp: completeAnswer(sdp, offer, this.#announced) })
        },
        onConnected: () => this.#connected(session),
        onMedia: (media) => session.take(media),
        onReception: (tracks) => (session.tracks = tracks),
        onEnd: (reason) => {
          if (reason === OFFER_REFUSED) {
            answered.resolve({ ok: false, code: 'malformed', message: 'The offer cannot be answered: it is damaged.' })
          }
          void session.finish(reason)
        },
      },
    )
    session.onEnd = () =>
      answered.resolve({ ok: false, code: 'unavailable', message: 'The session could not be opened; try again.' })
    try {
      return await answered.promise
    } finally {
      clearTimeout(timer)
    }
  }

  #connected(session: WhipSession): void {
    const { log, onPublisher, pictureSize } = this.#options
    const publisher = session.connect(pictureSize(session.streamId))
    log.info(
      {
        sessionId: session.sessionId,
        path: session.path,
        streamId: session.streamId,
        remoteAddress: publisher.remoteAddress,
      },
      'publisher admitted',
    )
    onPublisher(publisher)
  }

  async #follow(request: Follow): Promise<WhipReply> {
    const session = this.#sessions.get(request.session)
    if (session === undefined || session.path !== request.path) {
      return { ok: false, code: 'not_found', message: 'There is no such session, or it has ended.' }
    }
    if (!timingSafeEqual(Buffer.from(session.keyHash), Buffer.from(request.keyHash))) {
      return { ok: false, code: 'unauthorized', message: 'The token is not that of the session.' }
    }
    if (request.type === 'delete') {
      // The publisher is over when the reply is out: whoever deletes and starts anew is not in its own way.
      await session.finish('unpublished')
      return { ok: true }
    }
    if (!isFragment(request.fragment)) {
      return { ok: false, code: 'malformed', message: 'The body is no fragment of a session description.' }
    }
    const ufrag = fragmentUfrag(request.fragment)
    if (ufrag !== undefined && ufrag !== session.ufrag) {
      return { ok: false, code: 'restart', message: 'ICE restarts are not supported: open a new session.' }
    }
    if (request.ifMatch !== undefined && !request.ifMatch.includes(session.etag)) {
      return { ok: false, code: 'changed', message: 'The ETag is not that of the session.' }
    }
    // Candidates are not needed: the client's own checks show where it is.
    return { ok: true }
  }
}
