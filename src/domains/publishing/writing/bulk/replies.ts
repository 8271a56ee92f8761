import { createHash } from 'node:crypto'
import { created, ok, type FileOptions } from '../../../../core/reply.ts'
import type { BulkResultData } from './schemas.ts'

/** 201 for posts that were created, 200 for a dry run. */
export function bulkReply(dryRun: boolean | undefined, result: BulkResultData) {
  return dryRun === true ? ok('Rows checked', result) : created('Posts created', result)
}

/** An export as a download. */
export function exportFile(bytes: Buffer, format: 'csv' | 'json'): FileOptions {
  return {
    contentType: format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json',
    size: bytes.length,
    etag: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
    name: `posts.${format}`,
    disposition: 'attachment',
    open: async (range) => chunks(range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)),
  }
}

async function* chunks(bytes: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(bytes)
}
