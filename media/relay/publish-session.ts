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
  /** Publish.Start came: media may follow on this message stream. */
  readonly onPublishing: (messageStreamId: number) => void
  readonly onAcknowledgement: (sequence: number) => void
}

/** What a server tells us between handshake and end is small; a server that sends more is not one. */
const READER_LIMITS = { maxMessageBytes: 262_144, maxChunkStreams: 64, maxBufferedBytes: 524_288 }

/**
 * How often the server is asked to acknowledge, in bytes: about once a second at usual rates. Servers that follow the
 * specification send one acknowledgement for each such window.
 */
const ACKNOWLEDGEMENT_WINDOW = 524_288

const USER_CONTROL = { pingRequest: 6, pingResponse: 7 } as const
const TRANSACTION = { connect: 1, releaseStream: 2, fcPublish: 3, createStream: 4, publish: 5 } as const

/** Codes that say "not now" where all others say "not with this key". */
const TRANSIENT_CODES = new Set([
  'NetConnection.Connect.AppShutdown',
  'NetConnection.Connect.Closed',
  'NetConnection.Connect.Failed',
  'NetConnection.Connect.InsufficientBW',
  'NetConnection.Connect.ServerBusy',
  'NetStream.Publish.Idle',
])

/**
 * How servers say that somebody publishes with the key: nginx-rtmp "Already publishing", node-media-server "Stream
 * already publishing", Wowza "… is already being published". They send the code of a wrong key with it.
 */
const IN_USE =
  /\b(?:already|in use|being published|is publishing|duplicate|another (?:publisher|encoder|session|connection))\b/i

/** The publisher's side of the RTMP command dialogue, from `connect` to `deleteStream`, without the socket. */
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
   * Takes bytes that the server sent.
   *
   * @throws Fault when the server refused or ended the stream; RtmpProtocolError when it broke the protocol.
   */
  push(bytes: Buffer): void {
    this.#reader.push(bytes)
    const received = this.#reader.bytesReceived
    if (this.#acknowledgeEvery > 0 && received - this.#acknowledged >= this.#acknowledgeEvery) {
      this.#acknowledged = received
      this.#control(MESSAGE_TYPE.acknowledgement, uint32(received % 0x1_0000_0000))
    }
  }

  /** Says goodbye, so that the platform ends the stream at once instead of waiting for a time-out. */
  end(): void {
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
        // Section 5.4.5: answered with a window of our own.
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
    // Many servers do not know releaseStream and FCPublish, and say so; that means nothing.
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
    const words = [code, description].filter((part) => part !== '').join(': ')
    const text = sanitizePeerText(words === '' ? 'no reason given' : words, this.#target.streamKey)
    if (TRANSIENT_CODES.has(code))
      return new Fault('closed_by_peer', `The server cannot take the stream now (${text}).`)
    const refusal = IN_USE.test(words) ? 'key_in_use' : 'rejected'
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
