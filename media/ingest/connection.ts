import { randomUUID } from 'node:crypto'
import { ChunkReader } from '../rtmp/chunk-reader.ts'
import type { RtmpMessage } from '../rtmp/chunk-reader.ts'
import { AGGREGATE, splitAggregate } from '../rtmp/aggregate.ts'
import { decodeAmf0 } from '../rtmp/amf0.ts'
import type { AmfValue } from '../rtmp/amf0.ts'
import { RtmpProtocolError } from '../rtmp/errors.ts'
import { AUDIO, DATA, DATA_AMF3, VIDEO } from '../rtmp/flv.ts'
import type { TallyLog } from '../../src/tools/tally-log.ts'
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
  /** For log lines that unadmitted peers can cause without limit. */
  readonly tally: TallyLog
  readonly authorizePublish: MediaNodeOptions['authorizePublish']
  /** Called when the host has allowed the key. Ends the older publisher of the path, or returns why that one stays. */
  readonly admit: (connection: Connection) => string | null
  /** Hands the publisher to its owner, before Publish.Start is sent. */
  readonly onPublisher: (publisher: PublisherSession) => void
  readonly onClosed: (connection: Connection) => void
  readonly now: () => number
}

type Phase = 'handshake' | 'connecting' | 'authorizing' | 'publishing' | 'closing' | 'closed'

const APP = 'live'
/** The application, with or without slashes and a query after it. It is anchored, so long names are refused at once. */
const IS_APP = new RegExp(`^${APP}/*(?:\\?|$)`)
const STREAM_ID = 1
const DEFAULT_ACK_WINDOW = 2_500_000
const MAX_DESCRIPTION_LENGTH = 200

/** Message type ids (RTMP 1.0, sections 5.4 and 7.1). */
const ACKNOWLEDGEMENT_WINDOW = 5
const USER_CONTROL = 4
const COMMAND_AMF3 = 17
const COMMAND = 20
const PING_REQUEST = 6

/**
 * One connection from accept to close: handshake, commands, admission, media. Only publishers are served. Invalid
 * input of a peer affects only its own connection.
 */
export class Connection {
  readonly sessionId = randomUUID()
  readonly remoteAddress: string
  /** Order of the `publish` commands. Of two admitted publishers of a path, the later one stays. */
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
    // The FIN ends the publisher. The close event would come only after our replies have drained.
    engine.socket.once('end', () => this.end('closed'))
    engine.socket.once('close', () => {
      this.end('closed')
      options.onClosed(this)
    })
  }

  get path(): string | null {
    return this.#fingerprint?.path ?? null
  }

  /** Whether media was received within the last `withinMs`. */
  isSending(now: number, withinMs: number): boolean {
    return this.#phase === 'publishing' && this.#hasSent && now - this.#lastMediaAt < withinMs
  }

  /** Drops the peer if one of its deadlines has passed. Called periodically. */
  checkDeadlines(now: number): void {
    const { limits } = this.#options
    const age = now - this.#acceptedAt
    if (this.#phase === 'closing') {
      if (now >= this.#closeAt) this.end('closed')
    } else if (this.#phase === 'handshake') {
      if (age > limits.handshakeTimeoutMs) this.#timeOut('handshake timed out')
    } else if (this.#phase === 'connecting') {
      if (age > limits.admissionTimeoutMs || now - this.#lastBytesAt > limits.idleTimeoutMs) {
        this.#timeOut('no publish command in time')
      }
    } else if (this.#phase === 'publishing') {
      // A peer that sends bytes but no media (pings, an endless message) is dropped too, after twice the time.
      const isSilent = now - this.#lastBytesAt > limits.idleTimeoutMs
      if (isSilent || now - this.#lastMediaAt > limits.idleTimeoutMs * 2) this.#timeOut('idle')
    }
  }

  /** Destroys the connection. The owner of its publisher, if any, gets the reason. */
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
      if (this.#phase === 'handshake') this.#readHandshake(bytes)
      else this.#reader.push(bytes)
      this.#afterBytes()
    })
    // The bytes may contain a key. They are overwritten, because the memory is reused or stays until it is collected.
    if (!this.#is('publishing')) bytes.fill(0)
  }

  /** Runs `work`, which handles input of the peer. Any error ends this connection only. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      const fields = { ...this.#logFields(), phase: this.#phase }
      if (error instanceof RtmpProtocolError)
        this.#options.log.debug({ ...fields, error: error.message }, 'protocol error')
      else this.#logFailure(fields, error as Error)
      this.end('protocol error')
    }
  }

  #logFailure(fields: object, { message: reason, stack: error }: Error): void {
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

  #readHandshake(bytes: Buffer): void {
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
        // The first byte says that AMF0 follows (section 7.1.1). No publisher sends real AMF3.
        this.#command(message.payload.subarray(1))
        return
      case USER_CONTROL:
        this.#userControl(message.payload)
        return
      case ACKNOWLEDGEMENT_WINDOW:
        if (message.payload.length < 4) throw new RtmpProtocolError('Window Acknowledgement Size is truncated')
        this.#ackWindow = message.payload.readUInt32BE() || DEFAULT_ACK_WINDOW
        return
      default:
    }
  }

  /** Media before Publish.Start is dropped. */
  #media(message: RtmpMessage): void {
    if (this.#phase !== 'publishing' || this.publisher === null) return
    this.#lastMediaAt = this.#lastBytesAt
    this.#hasSent = true
    this.publisher.deliver(message)
  }

  #userControl(payload: Buffer): void {
    if (payload.length < 2) throw new RtmpProtocolError('user control message is truncated')
    if (payload.readUInt16BE() !== PING_REQUEST) return
    if (payload.length < 6) throw new RtmpProtocolError('user control message is truncated')
    this.#send(replies.pingResponse(payload.readUInt32BE(2)))
  }

  #command(payload: Buffer): void {
    const [name, transactionValue, object, ...rest] = decodeAmf0(payload)
    // The payload may contain a key, so it is overwritten.
    payload.fill(0)
    if (typeof name !== 'string') throw new RtmpProtocolError('command without a name')
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
        this.#refuse('NetStream.Play.Failed', 'This server accepts publishers only.')
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
    if (this.#connected) throw new RtmpProtocolError('connect was sent twice')
    if (object === null || typeof object !== 'object') throw new RtmpProtocolError('connect without a command object')
    const { app, objectEncoding } = object as { [key: string]: AmfValue }
    if (typeof app !== 'string') throw new RtmpProtocolError('connect without an application')
    // Never logged, because people paste the whole URL with the key into this field.
    if (!IS_APP.test(app)) {
      this.#close(replies.connectRejected(transaction, `Use rtmp://<host>/${APP} as the server address.`))
      return
    }
    this.#connected = true
    this.#send(replies.connectResult(transaction, typeof objectEncoding === 'number' ? objectEncoding : 0))
  }

  #publish(name: AmfValue): void {
    if (!this.#connected || this.#phase !== 'connecting') throw new RtmpProtocolError('unexpected publish')
    if (typeof name !== 'string') throw new RtmpProtocolError('publish without a name')
    const fingerprint = fingerprintKey(name)
    if (fingerprint === null) {
      this.#refuse('NetStream.Publish.BadName', 'The stream key has an invalid format.')
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
    // Refused peers are read too: with unread bytes the close would become a TCP reset, and the reply would be lost.
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
    const description = reason.slice(0, MAX_DESCRIPTION_LENGTH)
    const fields = { ...this.#logFields(), code }
    this.#options.tally.add({ level: 'info', message: 'peer refused', reason: description, fields })
    this.#close(replies.status(STREAM_ID, 'error', code, description))
  }

  #refuseMedia(reason: string): void {
    this.#endPublisher('refused')
    this.#refuse('NetStream.Publish.Rejected', reason)
  }

  /** Sends a final message and closes. The peer gets `lingerMs` to read it, then its socket is destroyed. */
  #close(finalMessage: Buffer): void {
    this.#send(finalMessage)
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

  /** Compares without narrowing the type, because a callback may have changed the phase. */
  #is(phase: Phase): boolean {
    return this.#phase === phase
  }

  #logFields(): object {
    const { path, publisher, remoteAddress, sessionId } = this
    return { sessionId, remoteAddress, path, ...(publisher && { streamId: publisher.stream.streamId }) }
  }
}
