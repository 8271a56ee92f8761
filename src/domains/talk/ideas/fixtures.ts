import {
  inWorkspace,
  make,
  newName,
  times,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const rows: Rows = { idea_boards: board, ideas: (stage) => idea(stage) }

export const lists: Lists<typeof operations> = {
  listIdeaBoards: times(board),
  listIdeas: times((stage) => idea(stage)),
  listIdeaComments: async (stage, count) => {
    const id = await idea(stage)
    for (let made = 0; made < count; made += 1) await comment(stage, id)
    return { path: { id } }
  },
}

export const fixtures: Fixtures<typeof operations> = {
  createIdea: async (stage) => ({
    body: {
      ...inWorkspace(stage),
      boardId: await sharedBoard(stage),
      title: newName('idea'),
      description: 'Two minutes, with the people who work there.',
    },
  }),
  findSimilarIdeas: async (stage) => {
    const boardId = await sharedBoard(stage)
    const title = 'A tour of the workshop'
    await make(stage, 'POST /api/ideas', { ...inWorkspace(stage), boardId, title })
    return { query: { ...inWorkspace(stage), title: 'A tour of the worksh' } }
  },
  moveIdea: async (stage) => {
    const id = await idea(stage)
    const { app, owner } = stage
    const found = await app.send('GET /api/ideas/{id}', { apiKey: owner.apiKey, path: { id } })
    const { boardId, column } = found.body.data as { boardId: string; column: string }
    return { path: { id }, body: { boardId, column } }
  },
  mergeIdea: async (stage) => ({ path: { id: await idea(stage) }, body: { intoId: await idea(stage) } }),
  convertIdea: async (stage) => ({ path: { id: await idea(stage) } }),
  deleteIdeaComment: async (stage) => {
    const id = await idea(stage)
    return { path: { id, commentId: await comment(stage, id) }, as: { apiKey: stage.owner.apiKey } }
  },
}

function board(stage: Stage): Promise<string> {
  return make(stage, 'POST /api/ideas/boards', { ...inWorkspace(stage), name: newName('board') })
}

/** A workspace can have few boards, so ideas of fixtures share the first. */
async function sharedBoard(stage: Stage): Promise<string> {
  const { app, owner, workspaceId } = stage
  const query = { workspaceId, limit: 1 }
  const found = await app.send('GET /api/ideas/boards', { apiKey: owner.apiKey, query })
  return (found.body.data as { _id: string }[])[0]?._id ?? board(stage)
}

async function idea(stage: Stage): Promise<string> {
  const boardId = await sharedBoard(stage)
  return make(stage, 'POST /api/ideas', { ...inWorkspace(stage), boardId, title: newName('idea') })
}

async function comment({ app, owner }: Stage, id: string): Promise<string> {
  const body = { body: 'The workshop is free on Tuesday.' }
  const reply = await app.send('POST /api/ideas/{id}/comments', { apiKey: owner.apiKey, path: { id }, body })
  if (reply.status !== 201) throw new Error(`a comment for a fixture: ${reply.text}`)
  return (reply.body.data as { _id: string })._id
}
