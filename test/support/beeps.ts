/** Sound of half a second of silence after each 9.5 seconds of tone: 8-bit mono at 4 kHz. */
export function beeps(seconds: number): Buffer<ArrayBuffer> {
  const rate = 4_000
  const header = Buffer.alloc(44)
  const size = seconds * rate
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + size, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate, 28)
  header.writeUInt16LE(1, 32)
  header.writeUInt16LE(8, 34)
  header.write('data', 36)
  header.writeUInt32LE(size, 40)
  const sample = (at: number) => (at % (10 * rate) < 9.5 * rate ? 128 + Math.round(60 * Math.sin(at / 3)) : 128)
  return Buffer.concat([header, Uint8Array.from({ length: size }, (_, at) => sample(at))])
}
