import { createHash } from 'node:crypto'

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
const RAW = 0x55
const DAG_CBOR = 0x71

/** The CID of a file: CIDv1, raw, SHA-256, base32 (github.com/multiformats/cid). */
export function cidOfBlob(bytes: Uint8Array): string {
  return cid(RAW, bytes)
}

/** A CID that changes with the record. The network hashes DAG-CBOR; the sandbox hashes JSON with sorted keys. */
export function cidOfRecord(record: unknown): string {
  return cid(DAG_CBOR, Buffer.from(sorted(record)))
}

function cid(codec: number, bytes: Uint8Array): string {
  const digest = createHash('sha256').update(bytes).digest()
  return `b${base32(Buffer.concat([Buffer.from([1, codec, 0x12, digest.length]), digest]))}`
}

function base32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += BASE32[(value >>> bits) & 31]
      value &= (1 << bits) - 1
    }
  }
  return bits === 0 ? text : text + BASE32[(value << (5 - bits)) & 31]
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, part]) => `${JSON.stringify(name)}:${sorted(part)}`).join(',')}}`
}
