import { readFile } from 'node:fs/promises'
import heic from 'heic-decode'
import { transfer } from './transfer.ts'

/** Runs in a thread. Error messages start with a code of MediaWorkError. */

export interface HeicInput {
  readonly path: string
  readonly maxPixels: number
}

export interface HeicInfo {
  /** After the rotation that the file declares. */
  readonly width: number
  readonly height: number
  readonly images: number
}

export interface HeicDecoded {
  readonly width: number
  readonly height: number
  /** RGBA. */
  readonly data: Uint8ClampedArray<ArrayBuffer>
}

export async function info(input: HeicInput): Promise<HeicInfo> {
  return withImages(input, async ([first], images) => ({ width: first.width, height: first.height, images }))
}

export async function decode(input: HeicInput): Promise<HeicDecoded> {
  return transfer(await withImages(input, async ([first]) => first.decode()))
}

type Images = Awaited<ReturnType<typeof heic.all>>

/** Opens the images of a file. Their dimensions are checked before any pixel is decoded. */
async function withImages<Result>(
  { path, maxPixels }: HeicInput,
  use: (images: [Images[number]], count: number) => Promise<Result>,
): Promise<Result> {
  const buffer = await readFile(path)
  let images: Images
  try {
    images = await heic.all({ buffer })
  } catch (error) {
    throw new Error('damaged: The image cannot be read.', { cause: error })
  }
  try {
    const [first] = images
    if (first === undefined) throw new Error('damaged: The file contains no image.')
    if (first.width * first.height > maxPixels) {
      throw new Error(`too_large: The image has ${first.width} × ${first.height} pixels, which is too many.`)
    }
    return await use([first], images.length).catch((error: unknown) => {
      throw new Error('damaged: The image cannot be decoded.', { cause: error })
    })
  } finally {
    images.dispose()
  }
}
