import { decodeAmf0, encodeAmf0, type AmfValue } from '../rtmp/amf0.ts'
import { ChunkReader, type RtmpMessage } from '../rtmp/chunk-reader.ts'
import { CHUNK_STREAM, MESSAGE_TYPE, OUTGOING_CHUNK_SIZE, encodeAbsolute } from '../rtmp/chunk-writer.ts'
import { FORWARDED_CODECS } from '../rtmp/enhanced.ts'
import { Fault, sanitizePeerText } from './fault.ts'

export interface PublishTarget {
  readonly app: string
  readonly tcUrl: string
  readonly streamKey: string
}

export interface PublishSessionHandlers {
  readonly send: (bytes: Buffer) => void
  /** Publish.Start arrived: media may be sent on this message stream. */
  readonly onPublishing: (messageStreamId: number) => void
  readonly onAcknowledgement: (sequence: number) => void
}

/** RTMP servers send only small messages to a publisher. */
const READER_LIMITS = { maxMessageBytes: 262_144, maxChunkStreams: 64, maxBufferedBytes: 524_288 }

/**
 * The window in bytes after which the server should acknowledge: about once a second at usual bitrates. Servers that
 * follow the specification send one acknowledgement per window.
 */
const ACKNOWLEDGEMENT_WINDOW = 524_288

const USER_CONTROL = { pingRequest: 6, pingResponse: 7 } as const
const TRANSACTION = { connect: 1, releaseStream: 2, fcPublish: 3, createStream: 4, publish: 5 } as const

/** Codes of temporary failures. All other codes are refusals of the key. */
const TRANSIENT_CODES = new Set([
  'NetConnection.Connect.AppShutdown',
  'NetConnection.Connect.Closed',
  'NetConnection.Connect.Failed',
  'NetConnection.Connect.InsufficientBW',
  'NetConnection.Connect.ServerBusy',
  'NetStream.Publish.Idle',
])

/**
 * How servers report that another publisher uses the key: nginx-rtmp "Already publishing", node-media-server "Stream
 * already publishing", Wowza "… is already being published". Their status code is the same as for a wrong key.
 */
const IN_USE =
  /\b(?:already|in use|being published|is publishing|duplicate|another (?:publisher|encoder|session|connection))\b/i

/** The publisher's side of the RTMP commands, from `connect` to `deleteStream`, without the socket. */
export class PublishSession {
  readonly #target: PublishTarget
  readonly #handlers: PublishSessionHandlers
  readonly #reader: ChunkReader
  #messageStreamId: number | null = null
  #publishing = false
  #acknowledgeEvery = 0
  #acknowledged = 0

  constructor(target: PublishTarget, handlers: PublishSessionHandlers) {
    this.#target = target
    this.#handlers = handlers
    this.#reader = new ChunkReader({ ...READER_LIMITS, onMessage: (message) => this.#onMessage(message) })
  }

  start(): void {
    this.#control(MESSAGE_TYPE.setChunkSize, uint32(OUTGOING_CHUNK_SIZE))
    this.#control(MESSAGE_TYPE.windowAcknowledgementSize, uint32(ACKNOWLEDGEMENT_WINDOW))
    const { app, tcUrl } = this.#target
    const flashVer = 'FMLE/3.0 (compatible; Crier)'
    this.#command('connect', TRANSACTION.connect, {
      app,
      type: 'nonprivate',
      flashVer,
      tcUrl,
      capsEx: 0,
      ...FORWARDED_CODECS,
    })
  }

  /**
   * Parses bytes from the server.
   *
   * @throws Fault when the server refuses or ends the stream; RtmpProtocolError when it violates the protocol
   */
  push(bytes: Buffer): void {
    this.#reader.push(bytes)
    const received = this.#reader.bytesReceived
    if (this.#acknowledgeEvery > 0 && received - this.#acknowledged >= this.#acknowledgeEvery) {
      this.#acknowledged = received
      this.#control(MESSAGE_TYPE.acknowledgement, uint32(received % 0x1_0000_0000))
    }
  }

  /** Unpublishes, so that the platform ends the stream at once instead of after a time-out. */
  unpublish(): void {
    if (this.#messageStreamId === null) return
    this.#command('FCUnpublish', 6, null, this.#target.streamKey)
    this.#command('deleteStream', 7, null, this.#messageStreamId)
  }

  #onMessage(message: RtmpMessage): void {
    const { payload } = message
    switch (message.type) {
      case MESSAGE_TYPE.acknowledgement:
        if (payload.length >= 4) this.#handlers.onAcknowledgement(payload.readUInt32BE())
        return
      case MESSAGE_TYPE.userControl:
        if (payload.length >= 6 && payload.readUInt16BE() === USER_CONTROL.pingRequest) this.#pong(payload)
        return
      case MESSAGE_TYPE.windowAcknowledgementSize:
        if (payload.length >= 4) this.#acknowledgeEvery = payload.readUInt32BE()
        return
      case MESSAGE_TYPE.setPeerBandwidth:
        // Section 5.4.5: the reply is our window.
        this.#control(MESSAGE_TYPE.windowAcknowledgementSize, uint32(ACKNOWLEDGEMENT_WINDOW))
        return
      case MESSAGE_TYPE.command:
        this.#onCommand(decodeAmf0(payload))
        return
      default:
    }
  }

  #onCommand(values: readonly AmfValue[]): void {
    const [name, transaction, , info] = values
    if (name === '_result') this.#onResult(transaction, info)
    else if (name === '_error') this.#onError(transaction, info)
    else if (name === 'onStatus') this.#onStatus(info)
    else if (name === 'close') throw new Fault('closed_by_peer', 'The server ended the connection.')
  }

  #onResult(transaction: AmfValue, info: AmfValue): void {
    const { streamKey } = this.#target
    if (transaction === TRANSACTION.connect) {
      this.#command('releaseStream', TRANSACTION.releaseStream, null, streamKey)
      this.#command('FCPublish', TRANSACTION.fcPublish, null, streamKey)
      this.#command('createStream', TRANSACTION.createStream, null)
    } else if (transaction === TRANSACTION.createStream && this.#messageStreamId === null) {
      this.#messageStreamId = typeof info === 'number' && info > 0 && info < 0x1_0000_0000 ? info : 1
      this.#command('publish', TRANSACTION.publish, null, streamKey, 'live')
    }
  }

  #onError(transaction: AmfValue, info: AmfValue): void {
    // Ignored: many servers do not implement releaseStream and FCPublish.
    if (transaction === TRANSACTION.releaseStream || transaction === TRANSACTION.fcPublish) return
    throw this.#refusal(info)
  }

  #onStatus(info: AmfValue): void {
    const status = fieldsOf(info)
    if (status.code === 'NetStream.Publish.Start') {
      if (this.#publishing || this.#messageStreamId === null) return
      this.#publishing = true
      this.#handlers.onPublishing(this.#messageStreamId)
    } else if (status.level === 'error' || status.code === 'NetStream.Publish.BadName') {
      throw this.#refusal(info)
    } else if (status.code === 'NetStream.Unpublish.Success' || status.code === 'NetConnection.Connect.Closed') {
      throw new Fault('closed_by_peer', 'The server ended the stream.')
    }
  }

  #refusal(info: AmfValue): Fault {
    const { code, description } = fieldsOf(info)
    const reason = [code, description].filter((part) => part !== '').join(': ')
    const text = sanitizePeerText(reason === '' ? 'no reason given' : reason, this.#target.streamKey)
    if (TRANSIENT_CODES.has(code))
      return new Fault('closed_by_peer', `The server cannot accept the stream now (${text}).`)
    const refusal = IN_USE.test(reason) ? 'key_in_use' : 'rejected'
    return new Fault(refusal, `The server refused the stream (${text}).`)
  }

  #pong(request: Buffer): void {
    const response = Buffer.from(request.subarray(0, 6))
    response.writeUInt16BE(USER_CONTROL.pingResponse)
    this.#control(MESSAGE_TYPE.userControl, response)
  }

  #control(type: number, payload: Buffer): void {
    const message = { type, chunkStreamId: CHUNK_STREAM.control, payload }
    this.#handlers.send(encodeAbsolute(message, { timestamp: 0, streamId: 0 }, OUTGOING_CHUNK_SIZE))
  }

  #command(name: string, transaction: number, ...values: AmfValue[]): void {
    const payload = encodeAmf0(name, transaction, ...values)
    const streamId = name === 'publish' ? (this.#messageStreamId ?? 0) : 0
    const message = { type: MESSAGE_TYPE.command, chunkStreamId: CHUNK_STREAM.command, payload }
    this.#handlers.send(encodeAbsolute(message, { timestamp: 0, streamId }, OUTGOING_CHUNK_SIZE))
  }
}

function fieldsOf(info: AmfValue): { level: string; code: string; description: string } {
  const fields =
    typeof info === 'object' && info !== null && !Array.isArray(info) && !(info instanceof Date) ? info : {}
  const text = (value: AmfValue): string =>
    typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 4096) : ''
  return { level: text(fields['level']), code: text(fields['code']), description: text(fields['description']) }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
