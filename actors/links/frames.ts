import type { RefusalReason } from '../types.ts'

/**
 * The contents of frames between two nodes, version 1. Integers are big-endian and texts are UTF-8. The transport
 * delimits frames.
 */
export const VERSION = 1

export const TYPE = { request: 1, reply: 2, ping: 3, pong: 4, owners: 5, hello: 16, auth: 17, welcome: 18 } as const

export interface Request {
  readonly id: number
  /** Milliseconds until the deadline when the request was sent, because the clocks of two nodes cannot be compared. */
  readonly leftMs: number
  readonly control: boolean
  /** An earlier attempt may have taken effect. */
  readonly repeated: boolean
  readonly actor: string
  readonly operationId: string
  readonly caller: string
  readonly payload: string
}

/** `moved`: not executed, because another node owns the actor. `unknown`: the transaction may have taken effect. */
export type Reply =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'error'; readonly text: string }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly retryAfter: number }
  | { readonly kind: 'moved' }
  | { readonly kind: 'unknown' }

const KINDS = ['value', 'error', 'refused', 'moved', 'unknown'] as const
const CONTROL = 1
const REPEATED = 2

/** A peer violates the protocol. Its connection is closed. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
}

export function encodeRequest(request: Request): Buffer {
  const { actor, operationId, caller, payload } = request
  const lengths = [actor, operationId, caller, payload].map((text) => Buffer.byteLength(text)) as [
    number,
    number,
    number,
    number,
  ]
  if (lengths[0] > 0xffff || lengths[1] > 0xffff || lengths[2] > 0xffff) throw new RangeError('a name is too long')
  const frame = Buffer.allocUnsafe(16 + lengths[0] + lengths[1] + lengths[2] + lengths[3])
  frame[0] = TYPE.request
  frame[1] = (request.control ? CONTROL : 0) | (request.repeated ? REPEATED : 0)
  frame.writeUInt32BE(request.id, 2)
  frame.writeUInt32BE(Math.min(0xffff_ffff, Math.max(0, Math.ceil(request.leftMs))), 6)
  let offset = 10
  for (const [index, text] of [actor, operationId, caller].entries()) {
    const length = lengths[index] as number
    frame.writeUInt16BE(length, offset)
    frame.write(text, offset + 2, length)
    offset += 2 + length
  }
  frame.write(payload, offset)
  return frame
}

/** @throws FrameError */
export function decodeRequest(frame: Buffer): Request {
  if (frame.length < 16) throw new FrameError('a request is truncated')
  const flags = frame[1] as number
  let offset = 10
  const text = () => {
    if (offset + 2 > frame.length) throw new FrameError('a request is truncated')
    const end = offset + 2 + frame.readUInt16BE(offset)
    if (end > frame.length) throw new FrameError('a request is truncated')
    const value = frame.toString('utf8', offset + 2, end)
    offset = end
    return value
  }
  return {
    id: frame.readUInt32BE(2),
    leftMs: frame.readUInt32BE(6),
    control: (flags & CONTROL) !== 0,
    repeated: (flags & REPEATED) !== 0,
    actor: text(),
    operationId: text(),
    caller: text(),
    payload: frame.toString('utf8', offset),
  }
}

export function encodeReply(id: number, reply: Reply): Buffer {
  const text =
    reply.kind === 'value' || reply.kind === 'error'
      ? reply.text
      : reply.kind === 'refused'
        ? `${reply.retryAfter} ${reply.reason}`
        : ''
  const frame = Buffer.allocUnsafe(6 + Buffer.byteLength(text))
  frame[0] = TYPE.reply
  frame[1] = KINDS.indexOf(reply.kind)
  frame.writeUInt32BE(id, 2)
  frame.write(text, 6)
  return frame
}

/** @throws FrameError */
export function decodeReply(frame: Buffer): { readonly id: number; readonly reply: Reply } {
  const kind = KINDS[frame[1] ?? 255]
  if (frame.length < 6 || kind === undefined) throw new FrameError('unknown kind of reply')
  const id = frame.readUInt32BE(2)
  const text = frame.toString('utf8', 6)
  if (kind === 'value' || kind === 'error') return { id, reply: { kind, text } }
  if (kind !== 'refused') return { id, reply: { kind } }
  const [retryAfter = '1', reason = 'overloaded'] = text.split(' ')
  return { id, reply: { kind, reason: reason as RefusalReason, retryAfter: Number(retryAfter) } }
}

/** A request for the actors that the peer owns. It has no body. */
export function encodeOwners(id: number): Buffer {
  const frame = Buffer.alloc(6)
  frame[0] = TYPE.owners
  frame.writeUInt32BE(id, 2)
  return frame
}

export const PING = Buffer.from([TYPE.ping])
export const PONG = Buffer.from([TYPE.pong])
