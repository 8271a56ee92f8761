import type { Foundation } from '../../../foundation.ts'
import { BookEntries } from './entries.ts'
import { BookReader } from './reader.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly books: ReturnType<typeof composeBooks>['services']['books']
  }
}

/** Builds the services of the books. */
export function composeBooks(foundation: Foundation) {
  const reader = new BookReader(foundation)
  const entries = new BookEntries(foundation.database, foundation.clock, () => reader.content.changed())
  return { services: { books: { reader, entries } }, close: () => reader.content.close() }
}
