import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Storage } from '../../../storage/storage.ts'

/** The path of a stored file. Media work reads only local files, so a file in a bucket is downloaded to `folder` first. */
export async function localCopy(storage: Storage, key: string, folder: string, signal: AbortSignal): Promise<string> {
  const path = storage.localPath(key)
  if (path !== undefined) return path
  const content = await storage.get(key)
  if (content === undefined) throw new Error(`the file ${key} is not in the storage`)
  const copy = join(folder, 'original')
  await pipeline(content, createWriteStream(copy), { signal })
  return copy
}
