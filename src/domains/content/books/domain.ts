import { domain } from '../../../domain.ts'
import { composeBooks } from './compose.ts'
import * as operations from './operations.ts'
import { Book } from './tables.ts'

export const books = domain({
  name: 'books',
  about: 'Books as JSON, and how administrators write them',
  operations,
  entities: [Book],
  compose: composeBooks,
})
