import { Slices } from '../../../../core/slices.ts'
import { importSheet } from '../csv/import.ts'
import { urlsIn } from '../media-urls/urls-in.ts'
import type { NewPostInput } from '../../posts/index.ts'
import type { BulkRequest } from './importer.ts'

/**
 * The addresses of files in a bulk request, before it is checked. A file is read for them only if it has an address at
 * all. What cannot be read has none: the import names what is wrong with it.
 */
export async function urlsInRequest({ csv, file, posts }: BulkRequest): Promise<string[]> {
  if (posts !== undefined) return posts.flatMap((post) => urlsOf(post))
  const bytes = file === undefined ? Buffer.from(csv ?? '') : Buffer.from(file, 'base64')
  if (!/https?:/i.test(bytes.toString('latin1').replaceAll('\0', ''))) return []
  const account = () => ({ accountId: '' })
  const sheet = await importSheet(bytes, { account, dateOrder: 'dmy' }, new Slices())
  return sheet.ok ? sheet.rows.flatMap(({ post }) => urlsOf(post)) : []
}

function urlsOf(post: unknown): string[] {
  try {
    return urlsIn(post as NewPostInput).filter((url) => typeof url === 'string')
  } catch {
    // It is not a post.
    return []
  }
}
