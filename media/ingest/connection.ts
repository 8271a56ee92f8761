import { randomUUID } from 'node:crypto'
import { ChunkReader } from '../rtmp/chunk-reader.ts'
import type { RtmpMessage } from '../rtmp/chunk-reader.ts'
import { AGGREGATE, splitAggregate } from '../rtmp/aggregate.ts'
import { decodeAmf0 } from '../rtmp/amf0.ts'
import type { AmfValue } from '../rtmp/amf0.ts'
import { RtmpProtocolError } from '../rtmp/errors.ts'
import { AUDIO, DATA, DATA_AMF3, VIDEO } from '../rtmp/flv.ts'
import type { TallyLog } from '../tally-log.ts'
import type { DesiredStream, MediaLog, MediaNodeOptions } from '../types.ts'
import { authorize } from './authorize.ts'
import type { EngineConnection } from './engine.ts'
import type { IngestLimits } from './limits.ts'
import { PublisherSession } from './publisher-session.ts'
import * as replies from './replies.ts'
import { HANDSHAKE_BYTES, ServerHandshake } from './server-handshake.ts'
import { fingerprintKey } from './stream-key.ts'
import type { KeyFingerprint } from './stream-key.ts'

export interface ConnectionOptions {
  readonly engine: EngineConnection
  readonly limits: IngestLimits
  readonly log: MediaLog
  /** For lines that strangers can cause any number of times. */
  readonly tally: TallyLog
  readonly authorizePublish: MediaNodeOptions['authorizePublish']
  /** Asked once the key is good; why not, in words, when another publisher of the path stays. Ends an older one. */
  readonly admit: (connection: Connection) => string | null
  /** Shows the publisher to its owner, before Publish.Start is said. */
  readonly onPublisher: (publisher: PublisherSession) => void
  readonly onClosed: (connection: Connection) => void
  readonly now: () => number
}

type Phase = 'handshake' | 'connecting' | 'authorizing' | 'publishing' | 'closing' | 'closed'

const APP = 'live'
const STREAM_ID = 1
const DEFAULT_ACK_WINDOW = 2_500_000
const LONGEST_DESCRIPTION = 200

/** Message type ids (RTMP 1.0, sections 5.4 and 7.1). */
const ACKNOWLEDGEMENT_WINDOW = 5
const USER_CONTROL = 4
const COMMAND_AMF3 = 17
const COMMAND = 20
const PING_REQUEST = 6

/**
 * One peer from accept to close: handshake, commands, admission, media. It serves publishers only. Whatever a peer
 * sends, the worst that happens is that its own socket is destroyed.
 */
export class Connection {
  readonly sessionId = randomUUID()
  readonly remoteAddress: string
  /** Order in which publishers asked: of two admitted ones the later one stays. */
  publishOrder = 0
  publisher: PublisherSession | null = null
  readonly #options: ConnectionOptions
  readonly #engine: EngineConnection
  readonly #reader: ChunkReader
  readonly #acceptedAt: number
  #phase: Phase = 'handshake'
  readonly #handshake = new ServerHandshake((bytes) => this.#send(bytes))
  #connected = false
  #fingerprint: KeyFingerprint | null = null
  #bytesReceived = 0
  #bytesAcknowledged = 0
  #ackWindow = DEFAULT_ACK_WINDOW
  #lastBytesAt: number
  #lastMediaAt = 0
  #hasSent = false
  #closeAt = Infinity

  static #publishOrders = 0

  constructor(options: ConnectionOptions) {
    const { engine, limits } = options
    this.#options = options
    this.#engine = engine
    this.remoteAddress = engine.socket.remoteAddress ?? ''
    this.#acceptedAt = this.#lastBytesAt = options.now()
    this.#reader = new ChunkReader({
      maxMessageBytes: limits.maxUnadmittedBytes,
      maxBufferedBytes: limits.maxUnadmittedBytes,
      maxChunkStreams: limits.maxChunkStreams,
      onMessage: (message) => this.#message(message),
    })
    engine.onBytes = (bytes) => this.#receive(bytes)
    engine.socket.setNoDelay(true)
    // The peer's FIN is enough: waiting for the socket to close would report the end as late as our replies drain.
    engine.socket.once('end', () => this.end('closed'))
    engine.socket.once('close', () => {
      this.end('closed')
      options.onClosed(this)
    })
  }

  get path(): string | null {
    return this.#fingerprint?.path ?? null
  }

  /** Whether media came within the last `withinMs`. */
  isSending(now: number, withinMs: number): boolean {
    return this.#phase === 'publishing' && this.#hasSent && now - this.#lastMediaAt < withinMs
  }

  /** Drops the peer if one of its deadlines has passed. Called every so often. */
  checkDeadlines(now: number): void {
    const { limits } = this.#options
    const age = now - this.#acceptedAt
    if (this.#phase === 'closing') {
      if (now >= this.#closeAt) this.end('closed')
    } else if (this.#phase === 'handshake') {
      if (age > limits.handshakeTimeoutMs) this.#timeOut('handshake timed out')
    } else if (this.#phase === 'connecting') {
      if (age > limits.admissionTimeoutMs || now - this.#lastBytesAt > limits.idleTimeoutMs) {
        this.#timeOut('nothing was published in time')
      }
    } else if (this.#phase === 'publishing') {
      // Bytes without media (pings, a message that never ends) are silence too, but a slow network gets more time.
      const silent = now - this.#lastBytesAt > limits.idleTimeoutMs
      if (silent || now - this.#lastMediaAt > limits.idleTimeoutMs * 2) this.#timeOut('idle')
    }
  }

  /** Ends the connection at once; the owner of its publisher, if any, is told why. */
  end(reason: string): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.#reader.suspend()
    this.#engine.socket.destroy()
    this.#endPublisher(reason)
  }

  #endPublisher(reason: string): void {
    if (this.publisher === null || this.publisher.ended) return
    this.#engine.unpublish()
    this.#options.log.info({ ...this.#logFields(), reason }, 'publisher ended')
    this.publisher.end(reason)
  }

  #timeOut(reason: string): void {
    this.#options.log.debug({ ...this.#logFields(), phase: this.#phase }, reason)
    this.end(reason)
  }

  #receive(bytes: Buffer): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return
    this.#lastBytesAt = this.#options.now()
    this.#bytesReceived += bytes.length
    this.#guard(() => {
      if (this.#phase === 'handshake') this.#shakeHands(bytes)
      else this.#reader.push(bytes)
      this.#afterBytes()
    })
    // There may be a key in it, and the memory is used again, or lies about until it is collected.
    if (!this.#is('publishing')) bytes.fill(0)
  }

  /** Runs what a peer's bytes cause: an error in it, of whatever kind, costs that peer its connection and no more. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      const fields = { ...this.#logFields(), phase: this.#phase }
      if (error instanceof RtmpProtocolError)
        this.#options.log.debug({ ...fields, error: error.message }, 'protocol error')
      else this.#noteFailure(fields, error as Error)
      this.end('protocol error')
    }
  }

  #noteFailure(fields: object, { message: reason, stack: error }: Error): void {
    this.#options.tally.add({ level: 'error', message: 'ingest failed', reason, fields: { ...fields, error } })
  }

  #afterBytes(): void {
    const { limits } = this.#options
    if (this.#phase === 'connecting' && this.#bytesReceived > limits.maxUnadmittedBytes + HANDSHAKE_BYTES) {
      throw new RtmpProtocolError('too many bytes before publishing')
    }
    if (this.#bytesReceived - this.#bytesAcknowledged >= this.#ackWindow) {
      this.#bytesAcknowledged = this.#bytesReceived
      this.#send(replies.acknowledgement(this.#bytesReceived))
    }
  }

  #shakeHands(bytes: Buffer): void {
    const rest = this.#handshake.push(bytes)
    if (rest === null) return
    this.#phase = 'connecting'
    if (rest.length > 0) this.#reader.push(rest)
  }

  #message(message: RtmpMessage): void {
    if (this.#phase !== 'connecting' && this.#phase !== 'publishing') return
    switch (message.type) {
      case AUDIO:
      case VIDEO:
      case DATA:
      case DATA_AMF3:
        this.#media(message)
        return
      case AGGREGATE:
        for (const part of splitAggregate(message)) if (part.type !== AGGREGATE) this.#message(part)
        return
      case COMMAND:
        this.#command(message.payload)
        return
      case COMMAND_AMF3:
        // One byte says that what follows is AMF0 (section 7.1.1); no publisher sends real AMF3 here.
        this.#command(message.payload.subarray(1))
        return
      case USER_CONTROL:
        this.#userControl(message.payload)
        return
      case ACKNOWLEDGEMENT_WINDOW:
        if (message.payload.length < 4) throw new RtmpProtocolError('Window Acknowledgement Size is cut short')
        this.#ackWindow = message.payload.readUInt32BE() || DEFAULT_ACK_WINDOW
        return
      default:
    }
  }

  /** Media that comes before it was asked for is dropped: it is nobody's. */
  #media(message: RtmpMessage): void {
    if (this.#phase !== 'publishing' || this.publisher === null) return
    this.#lastMediaAt = this.#lastBytesAt
    this.#hasSent = true
    this.publisher.deliver(message)
  }

  #userControl(payload: Buffer): void {
    if (payload.length < 2) throw new RtmpProtocolError('user control message is cut short')
    if (payload.readUInt16BE() !== PING_REQUEST) return
    if (payload.length < 6) throw new RtmpProtocolError('user control message is cut short')
    this.#send(replies.pingResponse(payload.readUInt32BE(2)))
  }

  #command(payload: Buffer): void {
    const [name, transactionValue, object, ...rest] = decodeAmf0(payload)
    // The payload may hold a key: it is overwritten as soon as it has been read.
    payload.fill(0)
    if (typeof name !== 'string') throw new RtmpProtocolError('a command without a name')
    const transaction = typeof transactionValue === 'number' ? transactionValue : 0
    switch (name) {
      case 'connect':
        this.#connect(transaction, object)
        return
      case 'createStream':
        this.#send(replies.callResult(transaction, STREAM_ID))
        return
      case 'releaseStream':
      case 'FCPublish':
      case '_checkbw':
        this.#send(replies.callResult(transaction, undefined))
        return
      case 'publish':
        this.#publish(rest[0])
        return
      case 'play':
      case 'play2':
        this.#refuse('NetStream.Play.Failed', 'This server takes publishers only.')
        return
      case 'FCUnpublish':
      case 'closeStream':
      case 'deleteStream':
        if (this.#phase === 'publishing') this.#unpublish()
        return
      default:
    }
  }

  #connect(transaction: number, object: AmfValue): void {
    if (this.#connected) throw new RtmpProtocolError('connect came twice')
    if (object === null || typeof object !== 'object') throw new RtmpProtocolError('connect without an object')
    const { app, objectEncoding } = object as { [key: string]: AmfValue }
    if (typeof app !== 'string') throw new RtmpProtocolError('connect without an application')
    // Never logged: people paste whole addresses, with the key, into this field.
    if (app.split('?', 1)[0]!.replace(/\/+$/, '') !== APP) {
      this.#close(replies.connectRejected(transaction, `Use rtmp://<host>/${APP} as the server address.`))
      return
    }
    this.#connected = true
    this.#send(replies.connectResult(transaction, typeof objectEncoding === 'number' ? objectEncoding : 0))
  }

  #publish(name: AmfValue): void {
    if (!this.#connected || this.#phase !== 'connecting') throw new RtmpProtocolError('publish out of turn')
    if (typeof name !== 'string') throw new RtmpProtocolError('publish without a name')
    const fingerprint = fingerprintKey(name)
    if (fingerprint === null) {
      this.#refuse('NetStream.Publish.BadName', 'This is not a stream key.')
      return
    }
    this.#fingerprint = fingerprint
    this.publishOrder = ++Connection.#publishOrders
    this.#phase = 'authorizing'
    this.#reader.suspend()
    this.#engine.socket.pause()
    void this.#authorize(fingerprint)
  }

  async #authorize(fingerprint: KeyFingerprint): Promise<void> {
    const { authorizePublish, limits, tally } = this.#options
    const request = { ...fingerprint, remoteAddress: this.remoteAddress }
    const decision = await authorize(authorizePublish, request, limits.authorizeTimeoutMs, ({ message: reason }) =>
      tally.add({ level: 'warn', message: 'publisher could not be checked', reason, fields: this.#logFields() }),
    )
    if (this.#phase !== 'authorizing') return
    this.#lastBytesAt = this.#lastMediaAt = this.#options.now()
    this.#guard(() => {
      if (decision.allowed) this.#start(fingerprint, decision.stream)
      else this.#refuse('NetStream.Publish.BadName', decision.reason)
    })
    // Reading goes on for refused peers too: bytes left unread would turn the close into a reset that eats the answer.
    if (!this.#engine.socket.destroyed) this.#engine.socket.resume()
  }

  #start(fingerprint: KeyFingerprint, stream: DesiredStream): void {
    const { limits, admit, onPublisher, log, now } = this.#options
    this.publisher = new PublisherSession({
      sessionId: this.sessionId,
      ...fingerprint,
      remoteAddress: this.remoteAddress,
      stream,
      doctor: limits.doctor,
      now,
      drop: (reason) => this.end(reason),
      refuse: (reason) => this.#refuseMedia(reason),
    })
    const refusal = admit(this)
    if (refusal !== null) {
      this.publisher = null
      this.#refuse('NetStream.Publish.BadName', refusal)
      return
    }
    this.#engine.publish(fingerprint.path)
    this.#phase = 'publishing'
    log.info(this.#logFields(), 'publisher admitted')
    onPublisher(this.publisher)
    if (!this.#is('publishing')) return
    this.#reader.setLimits({ maxMessageBytes: limits.maxMessageBytes, maxBufferedBytes: limits.maxInFlightBytes })
    this.#send(replies.streamBegin(STREAM_ID))
    this.#send(
      replies.status(STREAM_ID, 'status', 'NetStream.Publish.Start', `${fingerprint.path} is being published.`),
    )
    this.#reader.resume()
  }

  #unpublish(): void {
    this.#endPublisher('unpublished')
    this.#close(replies.status(STREAM_ID, 'status', 'NetStream.Unpublish.Success', 'The stream has ended.'))
  }

  #refuse(code: string, reason: string): void {
    const description = reason.slice(0, LONGEST_DESCRIPTION)
    const fields = { ...this.#logFields(), code }
    this.#options.tally.add({ level: 'info', message: 'peer refused', reason: description, fields })
    this.#close(replies.status(STREAM_ID, 'error', code, description))
  }

  #refuseMedia(reason: string): void {
    this.#endPublisher('refused')
    this.#refuse('NetStream.Publish.Rejected', reason)
  }

  /** Says a last word and closes. The peer gets a moment to read it; then its socket is destroyed, willing or not. */
  #close(lastWord: Buffer): void {
    this.#send(lastWord)
    if (this.#is('closed')) return
    this.#phase = 'closing'
    this.#reader.suspend()
    this.#closeAt = this.#options.now() + this.#options.limits.lingerMs
    this.#engine.socket.end()
  }

  #send(bytes: Buffer): void {
    this.#engine.write(bytes)
    if (this.#engine.socket.writableLength > this.#options.limits.maxUnsentBytes) {
      throw new RtmpProtocolError('the peer does not read our replies')
    }
  }

  /** Compares without narrowing: callbacks of others may have moved the phase. */
  #is(phase: Phase): boolean {
    return this.#phase === phase
  }

  #logFields(): object {
    const { path, publisher, remoteAddress, sessionId } = this
    return { sessionId, remoteAddress, path, ...(publisher && { streamId: publisher.stream.streamId }) }
  }
}
