import { systemTurn } from '../../../../core/system-turn.ts'
import type { BulkRequest } from './importer.ts'
import type { BulkResultData } from './schemas.ts'

/** Creates the posts of an uploaded file. */
export const importFile = systemTurn<BulkRequest & { readonly userId: string }, BulkResultData>({
  name: 'posts.import',
  run: ({ input: { userId, ...request }, turn, writing }) => writing.importer.run(turn, request, userId),
})
