/** A box of the ISO base media file format (ISO/IEC 14496-12, 4.2). */
export function box(type: string, ...content: readonly Buffer[]): Buffer {
  const size = content.reduce((sum, { length }) => sum + length, 8)
  return Buffer.concat([u32(size), text(type), ...content], size)
}

/** A box with version and flags. */
export function full(type: string, version: number, flags: number, ...content: readonly Buffer[]): Buffer {
  return box(type, u32(version * 0x100_0000 + flags), ...content)
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

export function text(value: string): Buffer {
  return Buffer.from(value, 'latin1')
}

export function zeros(count: number): Buffer {
  return Buffer.alloc(count)
}
