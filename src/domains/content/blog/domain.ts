import { domain } from '../../../domain.ts'
import { composeBlog } from './compose.ts'
import * as entryOperations from './entry-operations.ts'
import * as operations from './operations.ts'
import { BlogPost } from './tables.ts'

export const blog = domain({
  name: 'blog',
  about: 'Posts of the blog, feeds, and how administrators write them',
  operations: { ...operations, ...entryOperations },
  entities: [BlogPost],
  compose: composeBlog,
})
