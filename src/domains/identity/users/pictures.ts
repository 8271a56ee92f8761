import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { MediaWorkError } from '../../../../media/work/errors.ts'
import { HEAD_BYTES, inspectHead, inspectWhole } from '../../../content/inspect.ts'
import { DamagedFile, ImageTooLarge, UnsupportedFile } from '../../../content/errors.ts'
import type { Caller } from '../../../core/caller.ts'
import { InvalidCredential, NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { file } from '../../../core/reply.ts'
import type { Upload } from '../../../core/upload.ts'
import { increment } from '../../../db/increment.ts'
import { storageError } from '../../../storage/disk-errors.ts'
import { contentOf } from '../../../storage/stored-file.ts'
import type { Foundation } from '../../../foundation.ts'
import { PictureUnavailable } from './errors.ts'
import { pictureUrl } from './picture-url.ts'
import type { PictureSize, ProfilePictureData } from './schemas.ts'
import { users } from './tables.ts'

/** Largest file that is accepted as a picture, in bytes. */
export const MAX_PICTURE_BYTES = 8 * 1024 * 1024

/** The squares of a picture, with the length of their edge in pixels. */
const SIZES = [
  { name: 'small', edge: 64, fit: 'cover' },
  { name: 'medium', edge: 256, fit: 'cover' },
  { name: 'large', edge: 512, fit: 'cover' },
] as const

/**
 * Profile pictures. An uploaded file is rendered as squares in a separate process and then deleted, so that neither its
 * metadata (a location, for example) nor embedded content is ever served.
 */
export class ProfilePictures {
  readonly #foundation: Pick<Foundation, 'clock' | 'database' | 'mediaWork' | 'scratch' | 'storage'>

  constructor(foundation: Pick<Foundation, 'clock' | 'database' | 'mediaWork' | 'scratch' | 'storage'>) {
    this.#foundation = foundation
  }

  /** Replaces the caller's picture. @throws AppError of the inspection, picture_unavailable, … */
  async take({ userId }: Caller, upload: Upload): Promise<ProfilePictureData> {
    const folder = await mkdtemp(join(this.#foundation.scratch, 'picture-')).catch(rethrow)
    const pictureId = uuidv7(this.#foundation.clock.now())
    try {
      const path = join(folder, 'original')
      await pipeline(upload.stream, createWriteStream(path)).catch(rethrow)
      await requirePicture(path, upload.name)
      const work = await this.#foundation.mediaWork()
      const drawn = await work.thumbnails(path, folder, { sizes: SIZES, priority: 1 }).catch(asAppError)
      for (const { bytes, name, path: from } of drawn.thumbnails) {
        const key = keyOf(userId, pictureId, name)
        await this.#foundation.storage.put(key, createReadStream(from), { type: 'image/webp', size: bytes })
      }
      await this.#set(userId, pictureId)
      const sizes = SIZES.map(({ edge, name }) => ({ name, url: pictureUrl(pictureId, name), width: edge }))
      return { pictureUrl: pictureUrl(pictureId), sizes }
    } catch (error) {
      await this.#drop(userId, pictureId)
      throw error
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** Removes the caller's picture, if there is one. */
  async remove({ userId }: Pick<Caller, 'userId'>): Promise<void> {
    await this.#set(userId, null)
  }

  /** @throws AppError not_found, also for a picture that was replaced or removed */
  async file(pictureId: string, size: PictureSize) {
    const { database, storage } = this.#foundation
    const row = await users.first(database, { pictureId }, { columns: ['id'] })
    const key = row && keyOf(row.id, pictureId, size)
    const stored = key && (await storage.stat(key))
    if (!stored) throw NotFound()
    return file({
      contentType: 'image/webp',
      size: stored.size,
      etag: `${pictureId}.${size}`,
      name: `${size}.webp`,
      disposition: 'inline',
      modifiedAt: stored.modifiedAt,
      // A new picture has a new URL.
      cache: 'public, max-age=86400, immutable',
      open: contentOf(storage, key),
    })
  }

  async #set(userId: string, pictureId: string | null): Promise<void> {
    const { clock, database } = this.#foundation
    const before = await database.transaction(async (tx) => {
      const row = await users.first(tx, { id: userId }, { columns: ['pictureId'], lock: 'for update' })
      if (row === undefined) throw InvalidCredential()
      if (row.pictureId === pictureId) return null
      const updatedAt = new Date(clock.now())
      await users.update(tx, { id: userId }, { pictureId, version: increment(), updatedAt })
      return row.pictureId
    })
    if (before !== null) await this.#drop(userId, before)
  }

  async #drop(userId: string, pictureId: string): Promise<void> {
    for (const { name } of SIZES) await this.#foundation.storage.delete(keyOf(userId, pictureId, name))
  }
}

function keyOf(userId: string, pictureId: string, size: string): string {
  return `${userId}/${pictureId}.picture-${size}`
}

/** Where the largest square of a picture is stored. The uploaded file is not kept. */
export function largestPictureKey(userId: string, pictureId: string): string {
  return keyOf(userId, pictureId, 'large')
}

/** The types of profile pictures, in words. */
const WANTED = 'images (JPEG, PNG, GIF, WebP, HEIC, AVIF)'

/** Checks the content of a file before anything decodes it. @throws AppError */
async function requirePicture(path: string, name: string): Promise<void> {
  const handle = await open(path)
  try {
    const { size } = await handle.stat()
    const readAt = async (start: number, length: number) => {
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - start)))
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, start)
      return bytes.subarray(0, bytesRead)
    }
    const found = await inspectHead(await readAt(0, HEAD_BYTES), name, WANTED)
    if (found.kind !== 'image' || found.type === 'image/svg+xml') {
      throw UnsupportedFile({
        message: `This file cannot be used as a profile picture. The accepted types are ${WANTED}.`,
      })
    }
    await inspectWhole(found, size, readAt)
  } finally {
    await handle.close()
  }
}

function asAppError(error: unknown): never {
  const { code, message, name, retryable } = error as MediaWorkError
  if (name !== 'MediaWorkError') throw error
  if (retryable) throw PictureUnavailable({ cause: error, retryAfter: 5 })
  throw code === 'too_large' ? ImageTooLarge({ message, cause: error }) : DamagedFile({ message, cause: error })
}

function rethrow(error: unknown): never {
  throw storageError(error)
}
