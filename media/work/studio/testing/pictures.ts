import sharp from 'sharp'

/** Comparisons of pictures by pixels, for tests. */

export function pixelsOf(picture: string | Buffer) {
  return sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
}

/**
 * The share of pixels that differ in some channel by more than the tolerance (0 to 255).
 * @throws Error if the pictures have different sizes
 */
export async function differentShare(one: string | Buffer, other: string | Buffer, tolerance: number): Promise<number> {
  const [expected, actual] = [await pixelsOf(one), await pixelsOf(other)]
  const size = ({ info: { height, width } }: typeof expected) => `${width} × ${height}`
  if (size(expected) !== size(actual)) throw new Error(`the picture has ${size(actual)} pixels, not ${size(expected)}`)
  let different = 0
  for (let at = 0; at < expected.data.length; at += 4) {
    const channels = [0, 1, 2, 3].map((one) => Math.abs((expected.data[at + one] ?? 0) - (actual.data[at + one] ?? 0)))
    if (Math.max(...channels) > tolerance) different += 1
  }
  return different / (expected.data.length / 4)
}
