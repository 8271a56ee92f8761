import type { BookRow } from './tables.ts'

/** Everything about a book but its content. */
export const METADATA = [
  ...(['id', 'title', 'author', 'language', 'description', 'coverUrl', 'size', 'sha256'] as const),
  ...(['publishedAt', 'version', 'createdAt', 'updatedAt'] as const),
] as const

export type BookMetadata = Pick<BookRow, (typeof METADATA)[number]>
