import { RtmpProtocolError } from './errors.ts'

/** A value of Action Message Format 0. ECMA arrays and typed objects decode to plain objects without a prototype. */
export type AmfValue = null | undefined | boolean | number | string | Date | AmfValue[] | { [key: string]: AmfValue }

/** Limits for input from untrusted peers. */
export interface AmfLimits {
  /** Nesting levels of objects and arrays. */
  readonly maxDepth: number
  /** Values in one message, without keys. */
  readonly maxValues: number
  /** UTF-8 bytes of one string. */
  readonly maxStringBytes: number
}

export const DEFAULT_AMF_LIMITS: AmfLimits = { maxDepth: 16, maxValues: 16_384, maxStringBytes: 65_536 }

/** Markers of the AMF0 specification, section 2.1. */
const NUMBER = 0x00
const BOOLEAN = 0x01
const STRING = 0x02
const OBJECT = 0x03
const NULL = 0x05
const UNDEFINED = 0x06
const ECMA_ARRAY = 0x08
const OBJECT_END = 0x09
const STRICT_ARRAY = 0x0a
const DATE = 0x0b
const LONG_STRING = 0x0c
const UNSUPPORTED = 0x0d
const XML_DOCUMENT = 0x0f
const TYPED_OBJECT = 0x10

class AmfReader {
  readonly #buffer: Buffer
  readonly #limits: AmfLimits
  #offset = 0
  #values = 0

  constructor(buffer: Buffer, limits: AmfLimits) {
    this.#buffer = buffer
    this.#limits = limits
  }

  get done(): boolean {
    return this.#offset >= this.#buffer.length
  }

  value(depth: number): AmfValue {
    if (++this.#values > this.#limits.maxValues) throw new RtmpProtocolError('AMF0: too many values')
    const marker = this.#byte()
    switch (marker) {
      case NUMBER:
        return this.#double()
      case BOOLEAN:
        return this.#byte() !== 0
      case STRING:
        return this.#shortString()
      case OBJECT:
        return this.#object(depth)
      case NULL:
        return null
      case UNDEFINED:
      case UNSUPPORTED:
        return undefined
      case ECMA_ARRAY:
        // The count is only a hint (section 2.10). The end marker ends the array.
        this.#take(4)
        return this.#object(depth)
      case STRICT_ARRAY:
        return this.#array(depth)
      case DATE: {
        const milliseconds = this.#double()
        this.#take(2)
        return new Date(milliseconds)
      }
      case LONG_STRING:
      case XML_DOCUMENT:
        return this.#string(this.#buffer.readUInt32BE(this.#take(4)))
      case TYPED_OBJECT:
        this.#shortString()
        return this.#object(depth)
      default:
        throw new RtmpProtocolError(`AMF0: marker 0x${marker.toString(16)} is not supported`)
    }
  }

  #object(depth: number): AmfValue {
    this.#checkDepth(depth)
    // Without a prototype, "__proto__" and "constructor" are ordinary keys.
    const object = Object.create(null) as { [key: string]: AmfValue }
    for (;;) {
      const key = this.#shortString()
      if (key === '' && this.#buffer[this.#offset] === OBJECT_END) {
        this.#offset += 1
        return object
      }
      object[key] = this.value(depth + 1)
    }
  }

  #array(depth: number): AmfValue[] {
    this.#checkDepth(depth)
    const count = this.#buffer.readUInt32BE(this.#take(4))
    // Each element takes at least one byte, so a count above the remaining bytes is invalid.
    if (count > this.#buffer.length - this.#offset) throw new RtmpProtocolError('AMF0: array longer than its message')
    const array: AmfValue[] = []
    for (let index = 0; index < count; index++) array.push(this.value(depth + 1))
    return array
  }

  #checkDepth(depth: number): void {
    if (depth >= this.#limits.maxDepth) throw new RtmpProtocolError('AMF0: nested too deeply')
  }

  #byte(): number {
    return this.#buffer.readUInt8(this.#take(1))
  }

  #double(): number {
    return this.#buffer.readDoubleBE(this.#take(8))
  }

  #shortString(): string {
    return this.#string(this.#buffer.readUInt16BE(this.#take(2)))
  }

  #string(length: number): string {
    if (length > this.#limits.maxStringBytes) throw new RtmpProtocolError('AMF0: string too long')
    const start = this.#take(length)
    return this.#buffer.toString('utf8', start, start + length)
  }

  /** Advances by `count` bytes and returns the offset of the first one. */
  #take(count: number): number {
    const start = this.#offset
    if (start + count > this.#buffer.length) throw new RtmpProtocolError('AMF0: message is truncated')
    this.#offset = start + count
    return start
  }
}

/**
 * Decodes all values of a message body.
 *
 * @throws RtmpProtocolError on truncated, unknown or oversized input. It throws no other error.
 */
export function decodeAmf0(buffer: Buffer, limits: Partial<AmfLimits> = {}): AmfValue[] {
  const reader = new AmfReader(buffer, { ...DEFAULT_AMF_LIMITS, ...limits })
  const values: AmfValue[] = []
  while (!reader.done) values.push(reader.value(0))
  return values
}

/** Decodes only the first value and ignores the rest. */
export function decodeFirstAmf0(buffer: Buffer): AmfValue {
  return new AmfReader(buffer, DEFAULT_AMF_LIMITS).value(0)
}

/** Encodes values one after another, as in the body of a command or data message. */
export function encodeAmf0(...values: AmfValue[]): Buffer {
  const parts: Buffer[] = []
  for (const value of values) encodeValue(value, parts)
  return Buffer.concat(parts)
}

function encodeValue(value: AmfValue, parts: Buffer[]): void {
  if (value === null) parts.push(Buffer.of(NULL))
  else if (value === undefined) parts.push(Buffer.of(UNDEFINED))
  else if (typeof value === 'boolean') parts.push(Buffer.of(BOOLEAN, value ? 1 : 0))
  else if (typeof value === 'number') parts.push(encodeDouble(NUMBER, value))
  else if (typeof value === 'string') encodeString(value, parts)
  else if (value instanceof Date) parts.push(encodeDouble(DATE, value.getTime()), Buffer.of(0, 0))
  else if (Array.isArray(value)) {
    const head = Buffer.alloc(5)
    head[0] = STRICT_ARRAY
    head.writeUInt32BE(value.length, 1)
    parts.push(head)
    for (const element of value) encodeValue(element, parts)
  } else {
    parts.push(Buffer.of(OBJECT))
    for (const [key, member] of Object.entries(value)) {
      parts.push(encodeKey(key))
      encodeValue(member, parts)
    }
    parts.push(Buffer.of(0, 0, OBJECT_END))
  }
}

function encodeDouble(marker: number, value: number): Buffer {
  const bytes = Buffer.alloc(9)
  bytes[0] = marker
  bytes.writeDoubleBE(value, 1)
  return bytes
}

function encodeString(value: string, parts: Buffer[]): void {
  const bytes = Buffer.from(value)
  const long = bytes.length > 0xffff
  const head = Buffer.alloc(long ? 5 : 3)
  head[0] = long ? LONG_STRING : STRING
  if (long) head.writeUInt32BE(bytes.length, 1)
  else head.writeUInt16BE(bytes.length, 1)
  parts.push(head, bytes)
}

function encodeKey(key: string): Buffer {
  const bytes = Buffer.from(key)
  if (bytes.length > 0xffff) throw new RangeError('AMF0: a key has at most 65,535 bytes')
  const head = Buffer.alloc(2)
  head.writeUInt16BE(bytes.length)
  return Buffer.concat([head, bytes])
}
