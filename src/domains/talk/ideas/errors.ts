import { defineError } from '../../../core/error.ts'

export const ColumnFull = defineError({
  code: 'idea_column_full',
  status: 409,
  message:
    'The column already has as many ideas as its `limit` allows. Move an idea to another column, or raise `limit`.',
  cause: 'The board limits how many ideas this column can have. `details.limit` has the limit.',
  fix: 'Move an idea out of the column, or raise its limit with PATCH /api/ideas/boards/{id}.',
})

export const ColumnNotEmpty = defineError({
  code: 'idea_column_not_empty',
  status: 409,
  message:
    'The list of columns leaves out a column that still has ideas. Move them to another column first, or list the column.',
  cause: 'The list of columns omits a column that has ideas. `details.columnIds` lists such columns.',
  fix: 'Move its ideas to another column first, or list the column in `columns`.',
})

export const NeighborMoved = defineError({
  code: 'idea_neighbor_moved',
  status: 409,
  message:
    'Neither `before` nor `after` is in the list any more. Read the list again, and send a neighbor that is in it.',
  cause: 'The ideas or boards that `before` and `after` name are in another column, or were deleted.',
  fix: 'Read the column, or the boards, again and send the id of a neighbor that is there. Without `before` and `after`, it is placed at the end.',
})

export const IdeaClosed = defineError({
  code: 'idea_closed',
  status: 409,
  message:
    'The idea is closed to votes, because its `status` is completed, declined or duplicate. Vote for another idea, or change its `status` first.',
  cause: 'The idea was completed, declined, or merged into another one. `details` has its status and `duplicateOfId`.',
  fix: 'Vote for the idea that it was merged into, or reopen it by changing its status.',
})

export const IdeaMerged = defineError({
  code: 'idea_merged',
  status: 409,
  message: 'The idea was merged into another one. Use the idea in `details.duplicateOfId` instead.',
  cause:
    'A duplicate has no place on its board, and nothing can be merged into it. `details.duplicateOfId` names its original.',
  fix: 'Use the original, or give the duplicate another status first.',
})
