import { randomBytes } from 'node:crypto'
import { encodeAmf0 } from '../rtmp/amf0.ts'
import { ChunkEncoder } from './chunk-encoder.ts'

/** Input of a hostile peer. */
export interface MalformedInput {
  readonly name: string
  /** Whether it is sent after the handshake, or instead of it (`before`). */
  readonly at: 'before' | 'after'
  bytes(): Buffer
  /** Whether the server must close the connection immediately. */
  readonly isFatal: boolean
}

function send(type: number, payload: Buffer, chunkStreamId = 3): Buffer {
  const encoder = new ChunkEncoder()
  const resize = encoder.changeChunkSize(65_536)
  return Buffer.concat([resize, encoder.encode({ type, streamId: 0, chunkStreamId, timestamp: 0, payload })])
}

const command = (...values: Parameters<typeof encodeAmf0>): Buffer => send(20, encodeAmf0(...values))
const connect = (): Buffer => command('connect', 1, { app: 'live', tcUrl: 'rtmp://127.0.0.1/live' })

function nested(objects: number): Buffer {
  const body = Buffer.alloc(objects * 4)
  for (let index = 0; index < objects; index++) body.set([3, 0, 1, 0x61], index * 4)
  return Buffer.concat([encodeAmf0('connect', 1), body])
}

/** 30 kB of chunk headers that declare 16 MB on each of 2,000 chunk streams. */
export function oversizedDeclarations(declared = 0xff_ffff): Buffer {
  const chunks: Buffer[] = []
  for (let id = 64; id < 2_064; id++) {
    const chunk = Buffer.alloc(15)
    chunk[0] = 1
    chunk.writeUInt16LE(id - 64, 1)
    chunk.writeUIntBE(declared, 6, 3)
    chunk[9] = 9
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Inputs that end an unprotected node-media-server 4.4.3 or make it allocate memory. */
export const MALFORMED_INPUTS: readonly MalformedInput[] = [
  { name: 'an empty Set Chunk Size', at: 'after', isFatal: true, bytes: () => send(1, Buffer.alloc(0), 2) },
  { name: 'connect without a command object', at: 'after', isFatal: true, bytes: () => command('connect', 1) },
  { name: 'connect without tcUrl', at: 'after', isFatal: false, bytes: () => command('connect', 1, { app: 'live' }) },
  {
    name: 'connect with a bad tcUrl',
    at: 'after',
    isFatal: false,
    bytes: () => command('connect', 1, { app: 'live', tcUrl: '::::' }),
  },
  {
    name: 'publish without a name',
    at: 'after',
    isFatal: true,
    bytes: () => Buffer.concat([connect(), command('publish', 2, null)]),
  },
  { name: 'a command of one byte', at: 'after', isFatal: true, bytes: () => send(20, Buffer.of(2)) },
  {
    name: 'truncated AMF0',
    at: 'after',
    isFatal: true,
    bytes: () => send(20, encodeAmf0('connect', 1, { app: 'live' }).subarray(0, 25)),
  },
  {
    name: 'an unknown AMF0 marker',
    at: 'after',
    isFatal: true,
    bytes: () => send(20, Buffer.of(0xee, 1, 2, 3)),
  },
  { name: 'the command "constructor"', at: 'after', isFatal: false, bytes: () => command('constructor', 1, null) },
  { name: 'an empty data message', at: 'after', isFatal: false, bytes: () => send(18, Buffer.alloc(0), 5) },
  {
    name: 'an invalid onMetaData',
    at: 'after',
    isFatal: false,
    bytes: () => send(18, encodeAmf0('@setDataFrame', 'onMetaData', 42, ['x'], null), 5),
  },
  { name: '60,000 nested AMF0 objects', at: 'after', isFatal: true, bytes: () => send(20, nested(60_000)) },
  { name: '250,000 nested AMF0 objects', at: 'after', isFatal: true, bytes: () => send(20, nested(250_000)) },
  {
    name: 'a WebSocket request',
    at: 'before',
    isFatal: true,
    bytes: () =>
      Buffer.from(
        'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n',
      ),
  },
  {
    name: 'an HTTP request with $ in its path',
    at: 'before',
    isFatal: true,
    bytes: () => Buffer.from('GET /live/$.flv HTTP/1.1\r\nHost: x\r\n\r\n'),
  },
  { name: 'Set Chunk Size 0', at: 'after', isFatal: true, bytes: () => send(1, Buffer.alloc(4), 2) },
  {
    name: 'empty audio and video messages',
    at: 'after',
    isFatal: false,
    bytes: () => Buffer.concat([send(8, Buffer.alloc(0), 5), send(9, Buffer.alloc(0), 6)]),
  },
  {
    name: 'audio and video messages of one byte',
    at: 'after',
    isFatal: false,
    bytes: () => Buffer.concat([send(8, Buffer.of(0xaf), 5), send(9, Buffer.of(0x17), 6)]),
  },
  {
    name: 'a type 3 chunk at the start',
    at: 'after',
    isFatal: true,
    bytes: () => Buffer.concat([Buffer.of(0xc7), Buffer.alloc(128)]),
  },
  {
    name: 'an HTTP POST of random bytes',
    at: 'before',
    isFatal: true,
    bytes: () =>
      Buffer.concat([
        Buffer.from('POST /live/x.flv HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'),
        randomBytes(5_000),
      ]),
  },
  { name: 'random bytes', at: 'after', isFatal: false, bytes: () => randomBytes(20_000) },
  { name: '30 kB that declare 32 GB', at: 'after', isFatal: true, bytes: () => oversizedDeclarations() },
]
