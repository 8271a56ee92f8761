import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

const TEXT = 1
const CLOSE = 8
const PING = 9
const PONG = 10

/** A WebSocket on a bare TCP connection. It costs a fraction of a real client, which leaves CPU time for the server. */
export interface RawSocket {
  send(text: string): void
  end(): void
}

export interface RawSocketEvents {
  /** A text message; the bytes are valid until the call returns. */
  readonly onText: (message: Buffer) => void
  readonly onEnd: (reason: string) => void
}

/** @throws Error when the server does not upgrade the connection */
export function openRawSocket(port: number, path: string, events: RawSocketEvents): Promise<RawSocket> {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  const { promise, reject, resolve } = Promise.withResolvers<RawSocket>()
  let rest: Buffer = Buffer.alloc(0)
  let isOpen = false
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  )
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    if (!isOpen) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) return
      const status = rest.toString('latin1', 0, rest.indexOf('\r\n'))
      if (!status.includes(' 101 ')) {
        socket.destroy(new Error(`not upgraded: ${status}`))
        return
      }
      isOpen = true
      rest = rest.subarray(end + 4)
      resolve({ send: (text) => write(socket, TEXT, Buffer.from(text)), end: () => socket.destroy() })
    }
    rest = readFrames(socket, rest, events.onText)
  })
  socket.on('error', reject)
  socket.on('close', () => {
    reject(new Error('the connection ended before it was upgraded'))
    if (isOpen) events.onEnd('closed')
  })
  return promise
}

/** Reads complete frames. @returns the remaining bytes, the beginning of the next frame */
function readFrames(socket: Socket, bytes: Buffer, onText: (message: Buffer) => void): Buffer {
  let at = 0
  while (bytes.length - at >= 2) {
    const kind = (bytes[at] ?? 0) & 15
    let length = (bytes[at + 1] ?? 0) & 127
    let begin = at + 2
    if (length === 126) {
      if (bytes.length - at < 4) break
      length = bytes.readUInt16BE(begin)
      begin += 2
    } else if (length === 127) {
      if (bytes.length - at < 10) break
      length = Number(bytes.readBigUInt64BE(begin))
      begin += 8
    }
    if (bytes.length < begin + length) break
    const payload = bytes.subarray(begin, begin + length)
    if (kind === TEXT) onText(payload)
    else if (kind === PING) write(socket, PONG, payload)
    else if (kind === CLOSE) socket.end()
    at = begin + length
  }
  return bytes.subarray(at)
}

/** Clients must mask frames; a mask of zeros leaves the bytes unchanged. */
function write(socket: Socket, kind: number, payload: Buffer): void {
  const header = payload.length < 126 ? Buffer.alloc(6) : Buffer.alloc(8)
  header[0] = 128 | kind
  if (payload.length < 126) header[1] = 128 | payload.length
  else {
    header[1] = 128 | 126
    header.writeUInt16BE(payload.length, 2)
  }
  socket.write(Buffer.concat([header, payload]))
}
