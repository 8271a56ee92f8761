import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as operations from '../../src/domains/talk/ideas/operations.ts'
import type { BoardData, OwnIdeaData } from '../../src/domains/talk/ideas/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { Sockets, type Listening } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

const {
  addIdeaComment,
  convertIdea,
  createIdea,
  createIdeaBoard,
  deleteIdea,
  deleteIdeaBoard,
  deleteIdeaComment,
  findSimilarIdeas,
  getIdea,
  getIdeaBoard,
  listIdeaBoards,
  listIdeaComments,
  listIdeas,
  mergeIdea,
  moveIdea,
  updateIdea,
  updateIdeaBoard,
  voteIdea,
} = operations

let app: App
let world: World
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.member('acme', 'bob', { scopes: ['ideas:read'] })
  await world.member('acme', 'eve', { scopes: ['posts:read'] })
  await world.workspace('other', 'zoe')
})
afterAll(async () => {
  sockets.end()
  await app?.stop()
})

const inAcme = () => ({ workspaceId: world.id('acme') })

async function board(fields: object = {}): Promise<BoardData> {
  const reply = await world.as('ada').call(createIdeaBoard, { body: { ...inAcme(), name: 'Board', ...fields } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data as BoardData
}

async function idea(on: BoardData, title: string, fields: object = {}): Promise<OwnIdeaData> {
  const body = { ...inAcme(), boardId: on._id, title, ...fields }
  const reply = await world.as('ada').call(createIdea, { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data as OwnIdeaData
}

async function get(id: string, user = 'ada'): Promise<OwnIdeaData> {
  const reply = await world.as(user).call(getIdea, { path: { id } })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data as OwnIdeaData
}

async function titles(query: object): Promise<string[]> {
  const reply = await world.as('ada').call(listIdeas, { query: { ...inAcme(), limit: 100, ...query } })
  expect(reply.status, reply.text).toBe(200)
  return (reply.body.data as OwnIdeaData[]).map(({ title }) => title)
}

const move = (id: string, body: object) => world.as('ada').call(moveIdea, { path: { id }, body })
const vote = (user: string, id: string, value: number) =>
  world.as(user).call(voteIdea, { path: { id }, body: { value } })

describe('boards', () => {
  test('have the columns that they are given, and keep an order', async () => {
    const made = await board({ name: 'One', columns: [{ name: 'New' }, { name: 'Doing', limit: 2 }] })
    expect(made.columns.map(({ limit, name }) => [name, limit])).toEqual([
      ['New', null],
      ['Doing', 2],
    ])
    const second = await board({ name: 'Two' })
    expect(second.columns).toHaveLength(3)
    const path = { id: second._id }
    const moved = await world.as('ada').call(updateIdeaBoard, { path, body: { before: made._id } })
    expect(moved.status, moved.text).toBe(200)
    const listed = (await world.as('bob').call(listIdeaBoards, { query: inAcme() })).body.data as BoardData[]
    const ids = listed.map(({ _id }) => _id)
    expect(ids.indexOf(second._id)).toBe(ids.indexOf(made._id) - 1)
    const itself = await world.as('ada').call(updateIdeaBoard, { path, body: { after: second._id } })
    expect([itself.status, itself.body.errors[0].path]).toEqual([400, '/body/after'])
  })

  test('change their columns, but lose none that has ideas', async () => {
    const made = await board({ columns: [{ name: 'A' }, { name: 'B' }] })
    const [a, b] = made.columns
    await idea(made, 'In A')
    const path = { id: made._id }
    const change = (columns: object[], options: object = {}) =>
      world.as('ada').call(updateIdeaBoard, { path, body: { columns }, ...options })
    const refused = await change([{ _id: b?._id, name: 'B' }])
    expect([refused.status, refused.body.code, refused.body.details]).toEqual([
      409,
      'idea_column_not_empty',
      { columnIds: [a?._id] },
    ])
    const changed = await change([
      { name: 'C', limit: 5 },
      { _id: a?._id, name: 'First' },
    ])
    expect(changed.status, changed.text).toBe(200)
    const { columns, ideasCount, seq, version } = changed.body.data as BoardData
    expect(columns.map(({ name }) => name)).toEqual(['C', 'First'])
    expect([ideasCount, seq, version]).toEqual([1, 3, 2])
    expect((await change([{ _id: b?._id, name: 'B' }])).status).toBe(400)
    expect(
      (
        await change([
          { _id: a?._id, name: 'A' },
          { _id: a?._id, name: 'A' },
        ])
      ).status,
    ).toBe(400)
    const stale = await change([{ _id: a?._id, name: 'A' }], { headers: { 'if-match': '"1"' } })
    expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed'])
  })

  test('are deleted with their ideas', async () => {
    const made = await board()
    const { _id: id } = await idea(made, 'Gone')
    const elsewhere = await idea(await board(), 'A duplicate of it')
    await world.as('ada').call(mergeIdea, { path: { id: elsewhere._id }, body: { intoId: id } })
    const path = { id: made._id }
    expect((await world.as('ada').call(deleteIdeaBoard, { path })).status).toBe(200)
    expect((await world.as('ada').call(getIdeaBoard, { path })).status).toBe(404)
    expect((await world.as('ada').call(getIdea, { path: { id } })).status).toBe(404)
    expect((await get(elsewhere._id)).duplicateOfId).toBe(null)
  })
})

describe('the order of a column', () => {
  test('follows moves beside others, and within the limit of the column', async () => {
    const made = await board({ columns: [{ name: 'New' }, { name: 'Doing', limit: 1 }] })
    const [column, doing] = made.columns.map(({ _id }) => _id)
    const boardId = made._id
    const [a, b, c] = [await idea(made, 'a'), await idea(made, 'b'), await idea(made, 'c')]
    const top = await idea(made, 'top', { before: a._id })
    expect(await titles({ boardId })).toEqual(['top', 'a', 'b', 'c'])
    const before = await get(b._id)
    expect((await move(c._id, { boardId, column, after: top._id })).status).toBe(200)
    expect(await titles({ boardId })).toEqual(['top', 'c', 'a', 'b'])
    expect((await get(b._id)).rank).toBe(before.rank)
    // `before` has gone elsewhere, so `after` decides.
    expect((await move(b._id, { boardId, column: doing })).status).toBe(200)
    expect((await move(top._id, { boardId, column, after: c._id, before: b._id })).status).toBe(200)
    expect(await titles({ boardId, column })).toEqual(['c', 'top', 'a'])
    const lost = await move(c._id, { boardId, column, before: b._id })
    expect([lost.status, lost.body.code]).toEqual([409, 'idea_neighbor_moved'])
    const full = await move(c._id, { boardId, column: doing })
    expect([full.status, full.body.code, full.body.details.limit]).toEqual([409, 'idea_column_full', 1])
    expect((await move(b._id, { boardId, column: doing })).status).toBe(200)
    expect((await move(c._id, { boardId, column, after: c._id })).status).toBe(400)
    expect((await move(c._id, { boardId, column: boardId })).status).toBe(400)
  })

  test('pages with ranks of any length', async () => {
    const made = await board()
    const boardId = made._id
    const [column] = made.columns.map(({ _id }) => _id)
    const [first] = [await idea(made, '0'), await idea(made, 'last')]
    // Each goes between the first and the one before it, so that the ranks grow.
    const count = 8
    for (let place = 1; place <= count; place += 1) await idea(made, String(place), { after: first._id })
    await app.database.run(
      `update ideas set rank = left(rank, 2) || repeat('V', 50) || substr(rank, 3) where board_id = $1 and length(rank) > 2`,
      [boardId],
    )
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = { ...inAcme(), boardId, column, limit: 3, ...(cursor !== '' && { cursor }) }
      const reply = await world.as('ada').call(listIdeas, { query })
      expect(reply.status, reply.text).toBe(200)
      seen.push(...(reply.body.data as OwnIdeaData[]).map(({ title }) => title))
      cursor = reply.body.pagination.nextCursor
    }
    expect(seen).toEqual(['0', ...Array.from({ length: count }, (_, index) => String(count - index)), 'last'])
  })

  test('is the same for twenty members who drag at once', async () => {
    const made = await board({ columns: [{ name: 'Left' }, { name: 'Right' }] })
    const boardId = made._id
    const columns = made.columns.map(({ _id }) => _id)
    const cards: OwnIdeaData[] = []
    for (let n = 0; n < 20; n += 1) cards.push(await idea(made, `card ${n}`))
    const ids = cards.map(({ _id }) => _id)
    const members: Listening[] = []
    for (let n = 0; n < 20; n += 1) {
      const user = await world.member('acme', `dragger-${n}`, { scopes: ['ideas:read', 'ideas:write'] })
      members.push(await sockets.connect(user.apiKey))
    }
    // Each member drags all over the board, beside ideas that others drag at the same time.
    const replies = await Promise.all(
      members.flatMap(({ socket }, n) =>
        [1, 2, 3].map(async (round) => {
          const [id, neighbor] = [ids[(n * round) % 20], ids[(n * 7 + round) % 20]]
          const beside = id === neighbor || round === 3 ? {} : { [n % 2 === 0 ? 'after' : 'before']: neighbor }
          const body = { boardId, column: columns[(n + round) % 2], ...beside }
          return socket.emitWithAck('call', { operation: 'moveIdea', path: { id }, body })
        }),
      ),
    )
    const moved = replies.filter(({ status }) => status === 200)
    expect(new Set(replies.map(({ body, status }) => (status === 200 ? 200 : body.code)))).toEqual(
      new Set([200, ...(moved.length < replies.length ? ['idea_neighbor_moved'] : [])]),
    )
    expect(moved.length).toBeGreaterThanOrEqual(20)
    const movesSeenBy = ({ events }: Listening) =>
      events.filter(({ data, name }) => name === 'idea.moved' && data.data.boardId === boardId)
    const start = made.seq + ids.length
    const expected = Array.from({ length: moved.length }, (_, index) => start + 1 + index)
    const stored = await titles({ boardId })
    for (const member of members) {
      await waitFor(() => movesSeenBy(member).length === moved.length, { what: 'all moves at each socket' })
      // Everyone gets the moves in the board's order, without gaps, and the same order of ideas follows from them.
      const seen = movesSeenBy(member).map(({ data }) => data.data)
      expect(seen.map(({ seq }) => seq)).toEqual(expected)
      const state = new Map<string, { column: string; rank: string; title: string }>(
        cards.map((card) => [card._id, card]),
      )
      for (const one of seen) state.set(one._id, one)
      const order = [...state.values()].toSorted(
        (x, y) => columns.indexOf(x.column) - columns.indexOf(y.column) || (x.rank < y.rank ? -1 : 1),
      )
      expect(order.map(({ title }) => title)).toEqual(stored)
    }
  })
})

describe('votes', () => {
  test('are one a member', async () => {
    const { _id: id } = await idea(await board(), 'Votes')
    await Promise.all([vote('bob', id, 1), vote('bob', id, 1), vote('bob', id, 1), vote('ada', id, 1)])
    expect(await get(id, 'bob')).toMatchObject({ score: 2, upVotesCount: 2, downVotesCount: 0, ownVote: 1 })
    expect((await vote('bob', id, -1)).body.data).toMatchObject({ score: 0, upVotesCount: 1, downVotesCount: 1 })
    expect((await vote('bob', id, 0)).body.data).toMatchObject({ score: 1, ownVote: 0 })
    expect((await get(id)).version).toBe(1)
    expect((await vote('bob', id, 2)).status).toBe(400)
    expect((await vote('eve', id, 1)).status).toBe(403)
    expect((await vote('zoe', id, 1)).status).toBe(404)
    const path = { id }
    await world.as('ada').call(updateIdea, { path, body: { status: 'declined', statusNote: 'No budget.' } })
    const closed = await vote('bob', id, 1)
    expect([closed.status, closed.body.code]).toEqual([409, 'idea_closed'])
  })

  test('move with a merge, and count once for members who voted for both', async () => {
    const made = await board({ columns: [{ name: 'New', limit: 3 }] })
    const [first, second, third] = [await idea(made, 'First'), await idea(made, 'Second'), await idea(made, 'Third')]
    await vote('ada', first._id, 1)
    await vote('bob', first._id, 1)
    await vote('bob', second._id, -1)
    const merge = (id: string, intoId: string) => world.as('ada').call(mergeIdea, { path: { id }, body: { intoId } })
    const merged = await merge(first._id, second._id)
    expect(merged.status, merged.text).toBe(200)
    expect(merged.body.data).toMatchObject({ _id: second._id, score: 0, upVotesCount: 1, downVotesCount: 1 })
    expect(await get(first._id)).toMatchObject({ status: 'duplicate', duplicateOfId: second._id, score: 0 })
    const again = await merge(first._id, second._id)
    expect(again.body.data.seq).toBe(merged.body.data.seq)
    expect(await titles({ boardId: made._id })).toEqual(['Second', 'Third'])
    expect(await titles({ boardId: made._id, status: 'duplicate' })).toEqual(['First'])
    const [chained, moved] = [await merge(third._id, first._id), await move(first._id, target(made))]
    expect([chained.body.code, moved.body.code]).toEqual(['idea_merged', 'idea_merged'])
    expect((await merge(third._id, third._id)).status).toBe(400)
    // What was merged into an idea follows it.
    await merge(second._id, third._id)
    expect((await get(first._id)).duplicateOfId).toBe(third._id)
    // A duplicate that is opened again needs its place in the column.
    await idea(made, 'Fourth')
    await idea(made, 'Fifth')
    const reopen = () => world.as('ada').call(updateIdea, { path: { id: first._id }, body: { status: 'open' } })
    expect((await reopen()).body.code).toBe('idea_column_full')
    await world.as('ada').call(deleteIdea, { path: { id: third._id } })
    expect((await reopen()).body.data).toMatchObject({ status: 'open', duplicateOfId: null })
    const refused = await world.as('ada').call(updateIdea, {
      path: { id: first._id },
      body: { status: 'duplicate' },
    })
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, '/body/status'])
  })
})

const target = (made: BoardData) => ({ boardId: made._id, column: made.columns[0]?._id })

test('similar titles are found while one is written, in every script', async () => {
  const made = await board()
  for (const title of [
    'Dark mode for the studio',
    'Экскурсия по мастерской',
    '工場の見学ツアー',
    'Grüße aus der Küche',
  ]) {
    await idea(made, title)
  }
  const similar = async (title: string, extra: object = {}) => {
    const reply = await world.as('bob').call(findSimilarIdeas, { query: { ...inAcme(), title, ...extra } })
    expect(reply.status, reply.text).toBe(200)
    return (reply.body.data as { title: string }[]).map((found) => found.title)
  }
  expect(await similar('dark mod')).toEqual(['Dark mode for the studio'])
  expect(await similar('Please add a dark mode for the studio, my eyes hurt')).toEqual(['Dark mode for the studio'])
  expect(await similar('экскурсия в мастерскую')).toEqual(['Экскурсия по мастерской'])
  expect(await similar('工場見学')).toEqual(['工場の見学ツアー'])
  expect(await similar('grusse kuche')).toEqual(['Grüße aus der Küche'])
  expect(await similar('payroll')).toEqual([])
  expect(await similar('👋')).toEqual([])
  expect(await similar('dark mode', { boardId: (await board())._id })).toEqual([])
  const stranger = await world.as('zoe').call(findSimilarIdeas, {
    query: { workspaceId: world.id('other'), title: 'dark mode' },
  })
  expect(stranger.body.data).toEqual([])
})

test('a similarity search reads its own workspace in the index', async () => {
  const plan = await app.database.transaction(async (tx) => {
    await tx.run('set local enable_seqscan = off')
    await tx.run('set local enable_sort = off')
    return tx.rows<{ 'QUERY PLAN': string }>(
      `explain select id from ideas where workspace_id = '${world.id('acme')}' order by match_text <-> 'dark' limit 5`,
    )
  })
  expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toMatch(
    /Index Scan using ideas_by_similarity[\s\S]*Index Cond: \(workspace_id/,
  )
})

test('comments mention members who can see ideas', async () => {
  const { _id: id } = await idea(await board(), 'Talk about it')
  const say = (user: string, body: object) => world.as(user).call(addIdeaComment, { path: { id }, body })
  const made = await say('ada', { body: 'Look, Bob', mentions: [world.id('bob')] })
  expect(made.status, made.text).toBe(201)
  expect(made.body.data).toMatchObject({ ideaId: id, actor: { name: 'ada' }, mentions: [world.id('bob')] })
  await app.outbox.newest((await world.user('bob')).email, /mentioned you in a comment on an idea/)
  const eve = await say('ada', { body: 'Look, Eve', mentions: [world.id('eve')] })
  expect([eve.status, eve.body.errors[0].path]).toEqual([400, '/body/mentions/0'])
  expect((await get(id)).commentsCount).toBe(1)
  const path = { id, commentId: made.body.data._id as string }
  expect((await world.as('bob').call(deleteIdeaComment, { path })).status).toBe(403)
  expect((await world.as('ada').call(deleteIdeaComment, { path })).status).toBe(200)
  expect((await world.as('ada').call(deleteIdeaComment, { path })).status).toBe(404)
  expect((await world.as('bob').call(listIdeaComments, { path: { id } })).body.data).toEqual([])
  expect((await get(id)).commentsCount).toBe(0)
})

test('an idea becomes one draft, with links both ways', async () => {
  const { _id: id } = await idea(await board(), 'Tour', { description: 'Two minutes' })
  const convert = () => world.as('ada').call(convertIdea, { path: { id } })
  const replies = await Promise.all([convert(), convert(), convert()])
  expect(replies.map(({ status }) => status).toSorted((one, two) => one - two)).toEqual([200, 200, 201])
  const [post] = replies.map(({ body }) => body.data)
  expect(new Set(replies.map(({ body }) => body.data._id)).size).toBe(1)
  expect(post).toMatchObject({ status: 'draft', title: 'Tour', content: 'Tour\n\nTwo minutes', ideaId: id })
  expect((await get(id)).postId).toBe(post._id)
  // Without the draft, the idea can become another one.
  await world.as('ada').call('DELETE /api/posts/{id}', { path: { id: post._id } })
  expect((await get(id)).postId).toBe(null)
  const second = await convert()
  expect([second.status, second.body.data._id === post._id]).toEqual([201, false])
  // Without the idea, the draft has no link.
  await world.as('ada').call(deleteIdea, { path: { id } })
  const found = await world.as('ada').call('GET /api/posts/{id}', { path: { id: second.body.data._id } })
  expect(found.body.data.ideaId).toBe(null)
})

test('files of the library are attached, and go into the draft', async () => {
  const file = { name: 'stage.png', content: PIXEL, type: 'image/png' }
  const upload = await world.as('ada').call('POST /api/assets/upload', { body: inAcme(), file })
  const assetId = upload.body.data._id as string
  const made = await idea(await board(), 'With a picture', { assetIds: [assetId] })
  expect(made.attachments).toEqual([{ assetId, name: 'stage.png', type: 'image/png' }])
  const asset = await world.as('ada').call('GET /api/assets/{id}', { path: { id: assetId } })
  expect(asset.body.data.usedIn).toEqual([
    { kind: 'idea', _id: made._id, title: 'With a picture', scheduled: false, versionNumbers: null },
  ])
  const draft = await world.as('ada').call(convertIdea, { path: { id: made._id } })
  expect(draft.body.data.media).toMatchObject([{ assetId }])
  const unknown = { ...inAcme(), boardId: made.boardId, title: 'No', assetIds: [made._id] }
  const refused = await world.as('ada').call(createIdea, { body: unknown })
  expect([refused.status, refused.body.errors[0].path]).toEqual([400, '/body/assetIds/0'])
  // An asset that was deleted meanwhile stays in the list, without a name, and edits still work.
  await world.as('ada').call('POST /api/assets/bulk-delete', { body: { ...inAcme(), ids: [assetId], force: true } })
  const path = { id: made._id }
  const edited = await world.as('ada').call(updateIdea, { path, body: { assetIds: [assetId], title: 'Without' } })
  expect(edited.body.data.attachments).toEqual([{ assetId, name: null, type: null }])
})

test('lists sort by votes, by time and by hand', async () => {
  const made = await board()
  const boardId = made._id
  const [a, b] = [await idea(made, 'a'), await idea(made, 'b')]
  await idea(made, 'c')
  await vote('bob', b._id, 1)
  await vote('bob', a._id, -1)
  expect(await titles({ boardId, sort: 'votes' })).toEqual(['b', 'c', 'a'])
  expect(await titles({ boardId, sort: 'new' })).toEqual(['c', 'b', 'a'])
  expect(await titles({ boardId })).toEqual(['a', 'b', 'c'])
  await world.as('ada').call(updateIdea, { path: { id: b._id }, body: { status: 'started' } })
  expect(await titles({ boardId, status: 'started' })).toEqual(['b'])
  const unsorted = await world.as('ada').call(listIdeas, { query: { ...inAcme(), sort: 'manual' } })
  expect([unsorted.status, unsorted.body.errors[0].path]).toEqual([400, '/query/sort'])
  const foreign = await world.as('zoe').call(listIdeas, { query: { workspaceId: world.id('other'), boardId } })
  expect(foreign.body.data).toEqual([])
  const misplaced = await world.as('zoe').call(createIdea, {
    body: { workspaceId: world.id('other'), boardId, title: 'Not mine' },
  })
  expect([misplaced.status, misplaced.body.errors[0].path]).toEqual([400, '/body/boardId'])
})
