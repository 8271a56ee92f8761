/** The beginning of an MP4 with a media box of `media` bytes, which is all that the library inspects. */
export function mp4Head(media: number): Buffer {
  const box = (name: string, content: Buffer, length = content.length) => {
    const header = Buffer.alloc(16)
    // The long form allows sizes over 4 GiB.
    header.writeUInt32BE(1)
    header.write(name, 4)
    header.writeBigUInt64BE(BigInt(length + 16), 8)
    return Buffer.concat([header, content])
  }
  const ftyp = Buffer.from('\0\0\0\0ftypisom\0\0\0\0isommp42', 'latin1')
  ftyp.writeUInt32BE(ftyp.length)
  return Buffer.concat([ftyp, box('moov', Buffer.alloc(64)), box('mdat', Buffer.alloc(0), media)])
}
