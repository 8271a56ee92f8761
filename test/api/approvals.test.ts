import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { sandboxPosts } from '../support/sandbox-faults.ts'
import { seedMember, seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import type { Reply } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let owner: SeededUser
let ann: SeededUser
let bob: SeededUser
let writer: SeededUser
let workspaceId: string
let accountId: string
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK, env: { RATE_LIMITS: 'off' } })
  owner = await seedUser(app, 'owner', { plan: 'business' })
  ann = await seedUser(app, 'ann')
  bob = await seedUser(app, 'bob')
  writer = await seedUser(app, 'writer')
  workspaceId = await seedWorkspace(app, 'Approvals', owner)
  const connected = await as(owner, 'POST /api/social-accounts', {
    body: { workspaceId, platform: 'mastodon', sandbox: true },
  })
  accountId = connected.body.data._id
})
afterAll(() => app.stop())

beforeEach(async () => {
  for (const user of [ann, bob]) await seedMember(app, workspaceId, user, { role: 'editor' })
  await seedMember(app, workspaceId, writer, { role: 'contributor' })
  await as(owner, 'DELETE /api/approvals/{workspaceId}/flow')
})

interface Sent {
  readonly path?: Record<string, string>
  readonly query?: object
  readonly body?: object
  readonly headers?: Record<string, string>
}

function as(user: SeededUser, route: string, { path, ...sent }: Sent = {}): Promise<Reply> {
  return app.send(route, { apiKey: user.apiKey, path: { workspaceId, ...path }, ...sent } as never)
}

interface StageInput {
  readonly name?: string
  readonly approvers?: object
  readonly rule?: string | number
  readonly autoSchedule?: boolean
  readonly deadlineHours?: number
  readonly afterDeadline?: string
  readonly parts?: readonly string[]
}

async function flow(...stages: readonly StageInput[]): Promise<void> {
  const body = { stages: stages.map((stage, index) => ({ name: `Stage ${index + 1}`, approvers: {}, ...stage })) }
  const reply = await as(owner, 'PUT /api/approvals/{workspaceId}/flow', { body })
  expect(reply.status, reply.text).toBe(200)
}

const by = (...users: readonly SeededUser[]) => ({ approvers: { userIds: users.map(({ id }) => id) } })

async function create(content: string, extra: object = {}, user = writer): Promise<PostData> {
  const body = { workspaceId, content, targets: [{ accountId }], ...extra }
  const reply = await as(user, 'POST /api/posts', { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

const later = () => ({ scheduledFor: new Date(clock.now() + HOUR).toISOString() })

async function get(id: string): Promise<PostData> {
  return (await as(owner, 'GET /api/posts/{id}', { path: { id } })).body.data
}

const decide = (user: SeededUser, id: string, decision = 'approve', extra: object = {}) =>
  as(user, 'POST /api/posts/{id}/approval', { path: { id }, body: { decision, ...extra } })

const edit = (user: SeededUser, id: string, body: object) => as(user, 'PATCH /api/posts/{id}', { path: { id }, body })

const act = (user: SeededUser, verb: string, id: string, body?: object) =>
  as(user, `POST /api/posts/{id}/${verb}`, { path: { id }, ...(body && { body }) })

async function reached(id: string, status: string): Promise<PostData> {
  return waitFor(async () => {
    const post = await get(id)
    return post.status === status ? post : undefined
  })
}

async function published(text: string) {
  return (await sandboxPosts(app, 'mastodon')).filter((post) => post.text.includes(text))
}

describe('flow', () => {
  test('is replaced as a whole, with versions', async () => {
    expect((await as(owner, 'GET /api/approvals/{workspaceId}/flow')).status).toBe(404)
    await flow(by(ann))
    const read = await as(writer, 'GET /api/approvals/{workspaceId}/flow')
    expect(read.body.data).toMatchObject({
      version: 1,
      authorsMayApprove: false,
      stages: [
        { rule: 'any', autoSchedule: true, afterDeadline: 'remind', parts: ['text', 'media', 'targets', 'times'] },
      ],
    })
    const put = (version: string) =>
      as(owner, 'PUT /api/approvals/{workspaceId}/flow', {
        body: { stages: [{ name: 'Other', ...by(bob) }] },
        headers: { 'if-match': version },
      })
    expect((await put('"1"')).body.data).toMatchObject({ version: 2 })
    expect((await put('"1"')).status).toBe(412)
  })

  test('refuses approvers who do not exist or cannot decide, and says which', async () => {
    const put = async (stage: object) => {
      const body = { stages: [{ name: 'Legal', ...stage }] }
      const reply = await as(owner, 'PUT /api/approvals/{workspaceId}/flow', { body })
      expect(reply.status, reply.text).toBe(400)
      return reply.body.errors[0]
    }
    const stranger = await seedUser(app, 'stranger')
    expect(await put(by(stranger))).toMatchObject({ path: '/body/stages/0/approvers/userIds/0', code: 'no_member' })
    expect(await put(by(ann, writer))).toMatchObject({
      path: '/body/stages/0/approvers/userIds/1',
      code: 'no_scope',
      message: expect.stringContaining('posts:approve'),
    })
    expect(await put({ approvers: { roleIds: ['contributor'] } })).toMatchObject({ code: 'no_scope' })
    expect(await put({ approvers: { roleIds: ['nobody'] } })).toMatchObject({ code: 'unknown' })
    expect(await put({ approvers: { groupIds: [owner.id] } })).toMatchObject({ code: 'unknown' })
    expect(await put({ approvers: {} })).toMatchObject({ code: 'nobody' })
    expect(await put({ ...by(ann), rule: 2 })).toMatchObject({ path: '/body/stages/0/rule', code: 'too_many' })
  })
})

describe('review', () => {
  test('publishes a post at its time only after every stage has approved it', async () => {
    await flow(by(ann), by(bob))
    const post = await create('two stages', later())
    expect(post).toMatchObject({
      status: 'in_review',
      approval: { status: 'open', stage: 1, stageName: 'Stage 1', approverIds: [ann.id], submittedBy: writer.id },
    })
    expect((await decide(bob, post._id)).status).toBe(403)
    expect((await decide(writer, post._id)).status).toBe(403)
    expect((await decide(ann, post._id)).body.data).toMatchObject({
      status: 'in_review',
      approval: { stage: 2, approverIds: [bob.id], stages: [{ status: 'passed' }, { status: 'open' }] },
    })
    expect((await decide(bob, post._id)).body.data).toMatchObject({
      status: 'scheduled',
      scheduledFor: post.scheduledFor,
      approval: { status: 'approved', stage: null },
    })
    expect((await decide(bob, post._id)).status).toBe(409)
    clock.advance(HOUR + 1)
    await reached(post._id, 'published')
    expect(await published('two stages')).toHaveLength(1)
  })

  test('holds for everybody: an owner who publishes at once goes into review too', async () => {
    await flow(by(ann))
    const now = await create('owners too', { publishNow: true }, owner)
    expect(now).toMatchObject({ status: 'in_review', approval: { publishWhenApproved: true } })
    const draft = await create('owners later', {}, owner)
    expect((await act(owner, 'publish', draft._id)).body.data).toMatchObject({ status: 'in_review' })
    expect((await act(owner, 'reschedule', draft._id, later())).body.data).toMatchObject({ status: 'in_review' })
    expect(await published('owners')).toEqual([])
    clock.advance(3 * HOUR)
    await decide(ann, now._id)
    await reached(now._id, 'published')
  })

  test('says where a post is that was to be published or rescheduled', async () => {
    await flow(by(ann))
    const draft = await create('a draft to publish')
    const first = await act(owner, 'publish', draft._id)
    expect(first.body.message).toBe('Post is in review, and is published once it is approved')
    const waiting = await create('waits at its time', later())
    const again = await act(owner, 'publish', waiting._id)
    expect(again.body).toMatchObject({
      message: 'Post went back into review, and is published once it is approved',
      data: { status: 'in_review', approval: { publishWhenApproved: true } },
    })
    const body = { scheduledFor: new Date(clock.now() + 2 * HOUR).toISOString() }
    const moved = await act(owner, 'reschedule', waiting._id, body)
    expect(moved.body).toMatchObject({
      message: 'Post went back into review, and is published at its time once it is approved',
      data: { status: 'in_review', approval: { publishWhenApproved: false } },
    })
    await flow({ ...by(ann), autoSchedule: false, parts: ['text'] })
    const held = await create('is held', later())
    await decide(ann, held._id)
    expect((await act(owner, 'publish', held._id)).body).toMatchObject({
      message: 'Post is approved, and waits to be released',
      data: { status: 'ready' },
    })
  })

  test('needs no approval in a workspace without a flow', async () => {
    const post = await create('no flow', {}, owner)
    const reply = await act(owner, 'submit', post._id)
    expect([reply.status, reply.body.code]).toEqual([409, 'no_approval_flow'])
    expect(await create('scheduled', later(), owner)).toMatchObject({ status: 'scheduled', approval: null })
  })

  test('returns a rejected post, which must change before it is submitted again', async () => {
    await flow(by(ann))
    const body = { approvalDecided: { email: true } }
    const settings = await as(writer, 'PATCH /api/users/me/settings/notifications', { body: { kinds: body } })
    expect(settings.status, settings.text).toBe(200)
    const post = await create('rejected', later())
    const rejected = await decide(ann, post._id, 'reject', { comment: 'Not like this' })
    expect(rejected.body.data).toMatchObject({
      status: 'draft',
      scheduledFor: post.scheduledFor,
      approval: { status: 'rejected', decisions: [{ userId: ann.id, comment: 'Not like this' }] },
    })
    const mail = await app.outbox.newest(writer.email, /rejected/)
    expect(mail.text).toContain('Not like this')
    expect((await act(writer, 'submit', post._id)).status).toBe(409)
    await edit(writer, post._id, { content: 'rejected no more' })
    expect((await act(writer, 'submit', post._id)).body.data).toMatchObject({ approval: { status: 'open' } })
  })

  test('shows the posts of each stage, those with changes requested and those that are ready', async () => {
    await flow(by(ann), { ...by(bob), autoSchedule: false })
    const first = await create('column one', later())
    const second = await create('column two', later())
    const back = await create('column back', later())
    const held = await create('column ready')
    await act(writer, 'submit', held._id)
    await decide(ann, second._id)
    await decide(ann, back._id, 'request_changes')
    await decide(ann, held._id)
    await decide(bob, held._id)
    const board = await as(writer, 'GET /api/posts/approval-board', { query: { workspaceId } })
    const found = board.body.data.columns.map((one: { kind: string; posts: PostData[] }) => [
      one.kind,
      one.posts.map(({ _id }) => _id).filter((id) => [first._id, second._id, back._id, held._id].includes(id)),
    ])
    expect(found).toEqual([
      ['stage', [first._id]],
      ['stage', [second._id]],
      ['changes_requested', [back._id]],
      ['ready', [held._id]],
    ])
    expect((await act(bob, 'release', held._id)).body.data).toMatchObject({ approval: { status: 'approved' } })
    await reached(held._id, 'published')
    expect((await act(bob, 'release', held._id)).status).toBe(409)
  })

  test('reminds approvers at most once an hour', async () => {
    await flow(by(ann))
    const post = await create('ping', later())
    expect((await act(writer, 'approval/ping', post._id)).status).toBe(200)
    await app.outbox.newest(ann.email, /Reminder/)
    clock.advance(20 * MINUTE)
    const again = await act(writer, 'approval/ping', post._id)
    expect([again.status, again.headers.get('retry-after')]).toEqual([429, String(40 * 60)])
    clock.advance(41 * MINUTE)
    expect((await act(writer, 'approval/ping', post._id)).status).toBe(200)
  })

  test('lets managers override a stage with a reason, in the audit log', async () => {
    await flow(by(ann))
    const post = await create('override', later())
    const resolve = (user: SeededUser, body: object) =>
      as(user, 'POST /api/approvals/{workspaceId}/posts/{postId}/resolve', { path: { postId: post._id }, body })
    expect((await resolve(ann, { reason: 'I can' })).status).toBe(403)
    expect((await resolve(owner, {})).status).toBe(400)
    expect((await resolve(owner, { reason: 'By phone' })).body.data).toMatchObject({
      status: 'scheduled',
      approval: { decisions: [{ kind: 'override', userId: owner.id, comment: 'By phone' }] },
    })
    const log = await as(owner, 'GET /api/workspaces/{workspaceId}/audit-log', {})
    expect(JSON.stringify(log.body.data)).toContain('By phone')
  })

  test('takes a post back', async () => {
    await flow(by(ann))
    const post = await create('withdrawn', later())
    expect((await act(writer, 'withdraw', post._id)).body.data).toMatchObject({
      status: 'draft',
      approval: { status: 'withdrawn' },
    })
    expect((await decide(ann, post._id)).status).toBe(409)
  })
})

describe('rules', () => {
  test('all: waits for everybody', async () => {
    await flow({ ...by(ann, bob), rule: 'all' })
    const post = await create('all of them', later())
    expect((await decide(ann, post._id)).body.data.approval).toMatchObject({
      stages: [{ neededCount: 2, approvedCount: 1 }],
    })
    expect((await decide(bob, post._id)).body.data.status).toBe('scheduled')
  })

  test('a number: two approvals at once pass the stage once', async () => {
    await flow({ approvers: { roleIds: ['editor', 'owner'] }, rule: 2 }, by(owner))
    const post = await create('two at once', later())
    const replies = await Promise.all([decide(ann, post._id), decide(bob, post._id)])
    expect(replies.map(({ status }) => status)).toEqual([200, 200])
    const { approval } = await get(post._id)
    expect(approval).toMatchObject({ stage: 2, stages: [{ approvedCount: 2 }, { approvedCount: 0 }] })
  })

  test('nobody decides twice at a stage', async () => {
    await flow({ ...by(ann, bob), rule: 'all' })
    const post = await create('twice', later())
    await decide(ann, post._id)
    const again = await decide(ann, post._id, 'reject')
    expect(again.status).toBe(409)
    expect(again.body.details.approval).toMatchObject({ status: 'open', stage: 1 })
  })

  test('a stage with nobody left falls to managers, and says so', async () => {
    await flow(by(ann))
    const post = await create('nobody left', later())
    await as(owner, 'PATCH /api/team/{workspaceId}/members/{userId}', {
      path: { userId: ann.id },
      body: { role: 'contributor' },
    })
    const waiting = await waitFor(async () => {
      const found = await get(post._id)
      return found.approval?.isFallback === true ? found : undefined
    })
    expect(waiting.approval).toMatchObject({
      approverIds: [owner.id],
      message: expect.stringContaining('approvals:manage'),
    })
    expect((await decide(ann, post._id)).status).toBe(403)
    expect((await decide(owner, post._id)).body.data.status).toBe('scheduled')
  })

  test('authors do not approve their own posts unless the flow allows it', async () => {
    const own = { stages: [{ name: 'Own', ...by(ann, bob) }] }
    await as(owner, 'PUT /api/approvals/{workspaceId}/flow', { body: own })
    const post = await create('my own', later(), ann)
    expect((await decide(ann, post._id)).status).toBe(403)
    const edited = await create('touched', later())
    await edit(bob, edited._id, { content: 'touched by bob' })
    expect((await decide(bob, edited._id)).status).toBe(403)
    await as(owner, 'PUT /api/approvals/{workspaceId}/flow', { body: { ...own, authorsMayApprove: true } })
    expect((await decide(ann, post._id)).body.data.status).toBe('scheduled')
  })
})

describe('changes', () => {
  test('an edit opens the first affected stage again, and shows the difference', async () => {
    await flow({ ...by(ann), parts: ['times'] }, { ...by(bob), parts: ['text', 'media', 'targets'] })
    const post = await create('before the edit', later())
    await decide(ann, post._id)
    await decide(bob, post._id)
    expect((await edit(writer, post._id, { content: 'after the edit' })).body.data).toMatchObject({
      status: 'in_review',
      approval: { stage: 2, approverIds: [bob.id] },
    })
    const changes = await as(bob, 'GET /api/posts/{id}/approval/changes', { path: { id: post._id } })
    expect(changes.body.data).toMatchObject({ comparedWith: { version: 1 }, changes: { parts: ['text'] } })
    const moved = await act(writer, 'reschedule', post._id, {
      scheduledFor: new Date(clock.now() + 2 * HOUR).toISOString(),
    })
    expect(moved.body.data.approval).toMatchObject({ stage: 1, approverIds: [ann.id] })
    await decide(ann, post._id)
    expect((await decide(bob, post._id)).body.data.status).toBe('scheduled')
  })

  test('a change that nobody approves keeps the approval', async () => {
    await flow(by(ann))
    const post = await create('labels', later())
    await decide(ann, post._id)
    const labelled = await edit(writer, post._id, { labels: ['client'] })
    expect(labelled.body.data).toMatchObject({ status: 'scheduled', approval: { status: 'approved' } })
    clock.advance(HOUR + 1)
    await reached(post._id, 'published')
  })

  test('a decision on a content that has changed is refused', async () => {
    await flow(by(ann))
    const post = await create('seen', later())
    const contentHash = post.approval?.contentHash ?? ''
    await edit(writer, post._id, { content: 'changed meanwhile' })
    const stale = await decide(ann, post._id, 'approve', { contentHash })
    expect(stale.status).toBe(409)
    const now = stale.body.details.approval.contentHash
    expect((await decide(ann, post._id, 'approve', { contentHash: now })).body.data.status).toBe('scheduled')
  })

  test('a decision and an edit at the same time: the edit wins, whichever comes first', async () => {
    await flow(by(ann))
    for (const [index, decision] of [
      'approve',
      'approve',
      'request_changes',
      'reject',
      'approve',
      'approve',
    ].entries()) {
      const post = await create(`before ${index}`, later())
      const contentHash = post.approval?.contentHash ?? ''
      const deciding = () => decide(ann, post._id, decision, { contentHash })
      const editing = () => edit(writer, post._id, { content: `after ${index}`, ...later() })
      // The requests use separate connections, so either can arrive first.
      const calls = index % 2 === 0 ? [deciding(), editing()] : [editing(), deciding()]
      const replies = await Promise.all(calls)
      const [decided, edited] = index % 2 === 0 ? replies : replies.toReversed()
      expect(edited?.status, edited?.text).toBe(200)
      expect([200, 409]).toContain(decided?.status)
      const now = await get(post._id)
      // A decision for the old content never lets the new one out.
      expect(now.content).toBe(`after ${index}`)
      const isReturned = decided?.status === 200 && decision !== 'approve'
      expect(now.status).toBe(isReturned ? 'draft' : 'in_review')
      expect(now.approval?.status).toBe(
        isReturned ? { request_changes: 'changes_requested', reject: 'rejected' }[decision] : 'open',
      )
      const current = (now.approval?.decisions ?? []).filter(({ isCurrent }) => isCurrent)
      expect(current.filter((one) => one.decision === 'approve')).toEqual([])
      clock.advance(2 * HOUR)
      expect(await published(`after ${index}`)).toEqual([])
    }
  })

  test('content that was changed behind the approval goes back into review instead of out', async () => {
    await flow(by(ann))
    const post = await create('tampered', later())
    await decide(ann, post._id)
    await app.database.run(`update posts set body = jsonb_set(body, '{content}', '"tampered text"') where id = $1`, [
      post._id,
    ])
    clock.advance(HOUR + 1)
    const back = await reached(post._id, 'in_review')
    expect(back.targets[0]?.statusReason).toMatchObject({ code: 'not_approved' })
    expect(await published('tampered')).toEqual([])
  })

  test('replacing the flow keeps decisions of stages that stay the same', async () => {
    await flow(by(ann), by(bob))
    const post = await create('replaced', later())
    await decide(ann, post._id)
    await flow({ ...by(ann), name: 'Renamed' }, by(owner))
    expect((await get(post._id)).approval).toMatchObject({ stage: 2, approverIds: [owner.id] })
    await flow(by(ann))
    const waiting = await get(post._id)
    expect(waiting).toMatchObject({ status: 'in_review', approval: { stage: 1, isFallback: true } })
    expect((await decide(owner, post._id)).body.data).toMatchObject({
      status: 'scheduled',
      approval: { status: 'approved' },
    })
  })

  test('cancelling a post ends its review', async () => {
    await flow(by(ann))
    const post = await create('cancelled', later())
    expect((await act(writer, 'cancel', post._id)).body.data).toMatchObject({
      status: 'cancelled',
      approval: { status: 'withdrawn', stage: null },
    })
  })
})

describe('an approver who can no longer decide', () => {
  const member = { path: () => ({ userId: bob.id }) }
  const remove = () => as(owner, 'DELETE /api/team/{workspaceId}/members/{userId}', { path: member.path() })

  /** A post that waits for bob alone. */
  async function waitingForBob(content: string, extra: object = later()): Promise<PostData> {
    const post = await create(content, extra)
    expect((await decide(ann, post._id)).body.data.status).toBe('in_review')
    return post
  }

  const held = (id: string) =>
    waitFor(async () => {
      const post = await get(id)
      return post.approval?.isFallback === true ? post : undefined
    })

  test.each([
    ['a removed member', async () => flow({ ...by(ann, bob), rule: 'all' }), remove],
    [
      'a member with another role',
      async () => flow({ approvers: { roleIds: ['editor'] }, rule: 2 }),
      () =>
        as(owner, 'PATCH /api/team/{workspaceId}/members/{userId}', {
          path: member.path(),
          body: { role: 'contributor' },
        }),
    ],
    [
      'a deleted group',
      async () => {
        const group = await as(owner, 'POST /api/team/{workspaceId}/groups', {
          body: { name: 'Legal', memberIds: [bob.id], scopes: [] },
        })
        expect(group.status, group.text).toBe(201)
        groupId = group.body.data._id
        await flow({ approvers: { userIds: [ann.id], groupIds: [groupId] }, rule: 'all' })
      },
      () => as(owner, 'DELETE /api/team/{workspaceId}/groups/{id}', { path: { id: groupId } }),
    ],
  ])('%s publishes nothing: the post waits with the reason for a manager', async (what, start, leave) => {
    await start()
    const timed = await waitingForBob(`timed without ${what}`)
    const immediate = await waitingForBob(`immediate without ${what}`, { publishNow: true })
    const gone = await leave()
    expect(gone.status, gone.text).toBeLessThan(300)
    for (const { _id } of [timed, immediate]) {
      const post = await held(_id)
      expect(post).toMatchObject({
        status: 'in_review',
        approval: { status: 'open', stage: 1, approverIds: [owner.id], stages: [{ status: 'open' }] },
        targets: [{ statusReason: { code: 'no_approver', whoActs: 'user' } }],
      })
      expect(post.targets[0]?.statusReason?.message).toBe(post.approval?.message)
    }
    clock.advance(HOUR + MINUTE)
    expect((await decide(owner, timed._id)).body.data.status).not.toBe('in_review')
    expect((await decide(owner, immediate._id)).body.data.status).not.toBe('in_review')
    const sent = await waitFor(async () => {
      // Posts that are late go out one per second.
      clock.advance(SECOND)
      const posts = await published(`without ${what}`)
      return posts.length === 2 ? posts : undefined
    })
    expect(sent).toHaveLength(2)
  })
  let groupId = ''

  test('can be replaced: the post waits for the new one', async () => {
    await flow({ ...by(ann, bob), rule: 'all' })
    const post = await waitingForBob('replaced approver')
    await remove()
    await held(post._id)
    await seedMember(app, workspaceId, bob, { role: 'editor' })
    await flow({ ...by(ann, bob), rule: 'all' })
    expect((await get(post._id)).approval).toMatchObject({ isFallback: false, approverIds: [bob.id] })
    expect((await decide(bob, post._id)).body.data.status).toBe('scheduled')
  })

  test('does not let the deadline of the stage publish the post', async () => {
    await flow({ ...by(ann, bob), rule: 'all', deadlineHours: 5, afterDeadline: 'skip' })
    const post = await waitingForBob('deadline without approver', {
      scheduledFor: new Date(clock.now() + 72 * HOUR).toISOString(),
    })
    await remove()
    await held(post._id)
    clock.advance(5 * HOUR + 1)
    await waitFor(async () => (await get(post._id)).approval?.remindedAt)
    expect((await get(post._id)).status).toBe('in_review')
  })
})

describe('a deleted flow', () => {
  const drop = () => as(owner, 'DELETE /api/approvals/{workspaceId}/flow')

  test('keeps the times of posts in review, and asks to release them', async () => {
    await flow(by(ann))
    const approved = await create('approved before', later())
    await decide(ann, approved._id)
    const post = await create('orphan', later())
    const immediate = await create('an immediate orphan', { publishNow: true })
    const gone = await drop()
    expect(gone.body.message).toBe('Approval flow deleted. 2 posts that were in review wait to be released')
    expect((await get(approved._id)).status).toBe('scheduled')
    for (const { _id, scheduledFor } of [post, immediate]) {
      expect(await get(_id)).toMatchObject({
        status: 'ready',
        scheduledFor,
        approval: { status: 'ready', message: expect.stringContaining('flow was deleted') },
        targets: [{ statusReason: { code: 'approval_flow_deleted', nextStep: expect.stringContaining('Release') } }],
      })
    }
    expect((await decide(ann, post._id)).status).toBe(409)
    const notices = await waitFor(async () => {
      const { data } = (await as(writer, 'GET /api/notifications', { query: { limit: 50 } })).body
      return JSON.stringify(data).includes('waits to be released, because the approval flow was deleted')
    })
    expect(notices).toBe(true)
    const edited = await edit(writer, post._id, { content: 'orphan, edited' })
    expect(edited.body.data.status).toBe('ready')
    expect((await act(owner, 'release', post._id)).body.data).toMatchObject({
      status: 'scheduled',
      scheduledFor: post.scheduledFor,
    })
    clock.advance(HOUR + 1)
    await reached(post._id, 'published')
    expect(await published('an immediate orphan')).toEqual([])
  })

  test('does not get a post past the next flow', async () => {
    await flow(by(ann))
    const post = await create('between two flows', later())
    await drop()
    await flow(by(bob))
    expect((await act(owner, 'release', post._id)).body.data).toMatchObject({
      status: 'in_review',
      approval: { approverIds: [bob.id] },
    })
  })
})

describe('deadlines', () => {
  const inDays = () => ({ scheduledFor: new Date(clock.now() + 72 * HOUR).toISOString() })

  test('remind: the approvers get a mail, and the stage stays open', async () => {
    await flow({ ...by(bob), deadlineHours: 5 })
    const post = await create('slow', inDays())
    expect(post.approval?.deadlineAt).toBe(new Date(clock.now() + 5 * HOUR).toISOString())
    clock.advance(5 * HOUR + 1)
    await app.outbox.newest(bob.email, /Reminder/)
    await waitFor(async () => (await get(post._id)).approval?.remindedAt)
    expect((await get(post._id)).status).toBe('in_review')
  })

  test('return: the post is a draft again', async () => {
    await flow({ ...by(bob), deadlineHours: 5, afterDeadline: 'return' })
    const post = await create('too slow', inDays())
    clock.advance(5 * HOUR + 1)
    expect((await reached(post._id, 'draft')).approval).toMatchObject({ status: 'changes_requested' })
  })

  test('skip: the stage passes', async () => {
    await flow({ ...by(bob), deadlineHours: 5, afterDeadline: 'skip' }, by(ann))
    const post = await create('skipped', inDays())
    clock.advance(5 * HOUR + 1)
    await waitFor(async () => (await get(post._id)).approval?.stage === 2)
    expect((await get(post._id)).approval?.decisions).toMatchObject([{ kind: 'deadline', userId: null }])
  })
})
