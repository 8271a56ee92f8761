import { REST } from '@discordjs/rest'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import type { PublishContext } from '../publishing.ts'
import { discord } from './index.ts'
import { publishing } from './publishing.ts'

interface FakeState {
  readonly channels: Record<string, { type: number; deny: string; guild: string }>
  readonly guilds: Record<string, { premiumTier: number }>
  readonly webhooks: Record<string, { id: string; token: string; channel: string }>
}

type Draft = Parameters<typeof partOf>[1]

let peer: FakePlatform
let bot: PublishContext
let webhook: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(discord)
})
afterAll(() => peer.stop())
beforeEach(async () => {
  peer.clock.advance(5_000)
  bot = await peer.connect()
  const { id, token } = Object.values(state().webhooks).at(-1)!
  webhook = peer.as({ accessToken: token, webhook: id }, id)
})

const state = () => peer.running.fake.state as FakeState
const channel = () => state().channels[bot.remoteId]!
const posts = () => peer.running.fake.posts()
let drafts = 0
const draft = (text: string, more: Draft = {}) =>
  partOf(text, { key: `part ${(drafts += 1)}`, createdAt: peer.clock.now(), ...more })
const image = (bytes?: Buffer<ArrayBuffer>) => peer.file({ kind: 'image', type: 'image/png', altText: 'A cat' }, bytes)
const VIEW = '1024'
const SEND = '2048'
const ATTACH = '32768'
const HISTORY = '65536'

describe('credentials', () => {
  const connect = (fields: Parameters<typeof discord.credentials.connect>[1]) =>
    discord.credentials.connect(peer.context, fields)
  const asBot = () => ({ botToken: bot.credential.accessToken ?? '', channel: bot.remoteId })

  test('a bot is connected with its channel', async () => {
    const { credential, profile } = await connect(asBot())
    expect(profile).toMatchObject({ remoteId: bot.remoteId, kind: 'channel' })
    expect(profile.name).toMatch(/^#news · Sandbox server/)
    expect(profile.url).toBe(`https://discord.com/channels/${String(credential['guild'])}/${bot.remoteId}`)
  })

  test('a webhook is connected by its address', async () => {
    const { id, token } = Object.values(state().webhooks).at(-1)!
    const { profile } = await connect({ webhookUrl: `https://discord.com/api/webhooks/${id}/${token}` })
    expect(profile).toMatchObject({ remoteId: id, name: 'News', kind: 'webhook' })
    expect(JSON.stringify(peer.calls)).not.toContain(token)
  })

  test('either of them, and complete', async () => {
    const webhookUrl = 'https://discord.com/api/webhooks/1/a'
    for (const fields of [{}, { ...asBot(), webhookUrl }, { botToken: 'a.b.c' }]) {
      await expect(connect(fields)).rejects.toMatchObject({ kind: 'validation', code: 'fields' })
    }
  })

  test.each([
    ['a wrong token', () => connect({ ...asBot(), botToken: 'wrong' }), { kind: 'auth_expired' }],
    ['an unknown channel', () => connect({ ...asBot(), channel: '1' }), { kind: 'account_restricted', code: '10003' }],
    [
      'a deleted webhook',
      () => connect({ webhookUrl: 'https://discord.com/api/webhooks/1/token' }),
      { kind: 'auth_expired', code: '10015' },
    ],
  ])('%s is refused', async (_name, attempt, error) => {
    await expect(attempt()).rejects.toMatchObject(error)
  })

  test.each([
    [VIEW, { kind: 'scope_missing', code: '50001' }],
    [SEND, { kind: 'scope_missing', code: 'bot_rights', detail: expect.stringContaining('Send Messages') as unknown }],
  ])('a channel without the permission %s is refused', async (deny, error) => {
    channel().deny = deny
    await expect(connect(asBot())).rejects.toMatchObject(error)
  })

  test('a forum is not supported', async () => {
    channel().type = 15
    await expect(connect(asBot())).rejects.toMatchObject({ kind: 'unsupported', code: 'channel_type' })
  })
})

describe('capabilities', () => {
  test('of a bot are its permissions in the channel', async () => {
    expect(await discord.capabilities(bot)).toMatchObject({ blocked: {}, limits: {}, details: { missing: [] } })
    channel().deny = String(Number(ATTACH) + Number(HISTORY))
    const { blocked, details } = await discord.capabilities(bot)
    expect(Object.keys(blocked)).toEqual(['media', 'thread', 'forum'])
    expect(details).toMatchObject({ missing: ['Attach Files', 'Read Message History'] })
  })

  test('grow with the boosts of the server', async () => {
    state().guilds[channel().guild]!.premiumTier = 2
    expect((await discord.capabilities(bot)).limits['image.maxBytes']).toBe(52_428_800)
    const post = await peer.publish(bot, draft('Large', { media: [image(Buffer.alloc(11_000_000))] }))
    expect(posts().at(-1)?.id).toBe(post.id)
  })

  test('of a webhook have no replies', async () => {
    expect(await discord.capabilities(webhook)).toMatchObject({
      limits: { 'thread.max': 1 },
      details: { webhook: true },
    })
    const parent = await peer.publish(webhook, draft('First'))
    const reply = draft('Second', { role: 'reply', parent, root: parent })
    await expect(peer.publish(webhook, reply)).rejects.toMatchObject({ kind: 'unsupported', code: 'webhook_reply' })
  })
})

describe.each(['bot', 'webhook'])('a %s', (kind) => {
  const account = () => (kind === 'bot' ? bot : webhook)

  test('publishes a text with embeds', async () => {
    const embeds = [{ title: 'Title', description: 'Text', fields: [{ name: 'a', value: 'b' }] }]
    const post = await peer.publish(account(), draft('Hello @everyone', { options: { embeds, suppress_embeds: true } }))
    expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Hello @everyone' })
  })

  test('publishes a link after the text', async () => {
    await peer.publish(account(), draft('Read this', { link: 'https://example.com/a' }))
    expect(posts().at(-1)?.text).toBe('Read this\nhttps://example.com/a')
  })

  test('publishes files of all kinds together', async () => {
    const media = [
      image(),
      peer.file({ kind: 'video', type: 'video/mp4' }),
      peer.file({ kind: 'document', type: 'application/pdf' }),
    ]
    await peer.publish(account(), draft('Files', { media }))
    expect(posts().at(-1)?.media).toEqual(['image/png', 'video/mp4', 'application/pdf'])
  })

  test('edits, reads the figures, and deletes twice without an error', async () => {
    const post = await peer.publish(account(), draft('Typo'))
    expect(await publishing.edit?.(account(), post, draft('No typo'))).toMatchObject({ id: post.id })
    expect(posts().at(-1)?.text).toBe('No typo')
    expect(await publishing.insights?.(account(), post)).toEqual({ likes: 0 })
    await publishing.remove?.(account(), post)
    await publishing.remove?.(account(), post)
    expect(posts().some(({ id }) => id === post.id)).toBe(false)
  })
})

test('a bot replies, and comments', async () => {
  const root = await peer.publish(bot, draft('First'))
  const reply = await peer.publish(bot, draft('Second', { role: 'reply', root, parent: root }))
  await peer.publish(bot, draft('Third', { role: 'comment', root, parent: reply }))
  expect(posts().slice(-2)).toMatchObject([{ replyTo: root.id }, { replyTo: reply.id }])
  expect(reply.url).toBe(`https://discord.com/channels/${channel().guild}/${bot.remoteId}/${reply.id}`)
})

describe('a lost reply', () => {
  test('of a bot: the message is found, and the nonce prevents a second one', async () => {
    const part = draft('Lost: https://example.com <b> 🎉', { media: [image()] })
    const before = await peer.prepare(bot, part)
    expect(await publishing.reconcile?.(bot, part, before)).toEqual({ kind: 'absent' })
    peer.running.faults.add({ path: '/messages', method: 'POST', kind: 'cut', times: 1 })
    await expect(peer.publish(bot, part, before)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
    const { id } = posts().at(-1)!
    expect(await publishing.reconcile?.(bot, part, before)).toMatchObject({ kind: 'published', post: { id } })
    expect(await peer.publish(bot, part, before)).toMatchObject({ id })
    expect(posts().filter(({ text }) => text === part.text)).toHaveLength(1)
  })

  test('cannot be cleared up without the right to read, or by a webhook', async () => {
    const part = draft('Unknown')
    channel().deny = HISTORY
    expect(await publishing.reconcile?.(bot, part, publishing.start(part, bot))).toMatchObject({ kind: 'unknown' })
    expect(await publishing.reconcile?.(webhook, part, publishing.start(part, webhook))).toMatchObject({
      kind: 'unknown',
    })
  })
})

describe('threads, forums and polls', () => {
  const inState = (type: number) => Object.entries(state().channels).filter(([, one]) => one.type === type)
  const lastMessage = () =>
    (peer.running.fake.state as { messages: { channel: string; poll: unknown }[] }).messages.at(-1)
  const webhookAt = (place: string) => {
    const { id, token } = Object.values(state().webhooks).findLast((one) => one.channel === place)!
    return peer.as({ accessToken: token, webhook: id, guild: 'guild' }, id)
  }

  test('a bot publishes to a thread, which it can choose, and finds the message there again', async () => {
    const { choices = {} } = await discord.capabilities(bot)
    expect(choices['thread_id']).toEqual([{ value: expect.any(String), title: 'Questions' }])
    const thread = choices['thread_id']?.[0]?.value ?? ''
    const part = draft('In a thread', { options: { thread_id: thread } })
    const before = publishing.start(part, bot)
    expect(await publishing.reconcile?.(bot, part, before)).toEqual({ kind: 'absent' })
    const post = await peer.publish(bot, part)
    expect(post.url).toContain(`/${thread}/`)
    expect(lastMessage()).toMatchObject({ channel: thread })
    expect(await publishing.reconcile?.(bot, part, before)).toEqual({ kind: 'published', post })
    await publishing.edit?.(bot, post, { ...part, text: 'Edited there' })
    expect(posts().at(-1)?.text).toBe('Edited there')
    await publishing.remove?.(bot, post)
    expect(posts().some(({ id }) => id === post.id)).toBe(false)
  })

  test('a webhook publishes to a thread of its channel, and edits and removes the message', async () => {
    const [thread = ''] = inState(11).findLast(([, one]) => (one as { parent?: string }).parent === bot.remoteId) ?? []
    const hook = webhookAt(bot.remoteId)
    const part = draft('By a webhook', { options: { thread_id: thread } })
    const post = await peer.publish(hook, part)
    expect(lastMessage()).toMatchObject({ channel: thread })
    await publishing.edit?.(hook, post, { ...part, text: 'Edited by it' })
    expect(posts().at(-1)?.text).toBe('Edited by it')
    await publishing.remove?.(hook, post)
    expect(posts().some(({ id }) => id === post.id)).toBe(false)
    const elsewhere = peer.publish(hook, draft('Lost', { options: { thread_id: '100000000000000002' } }))
    await expect(elsewhere).rejects.toMatchObject({ code: '10003' })
  })

  test('the webhook of a forum begins a post with a title and tags', async () => {
    const [forum = '', about] = inState(15).at(-1) ?? []
    const [tag = ''] = Object.keys((about as { tags?: object } | undefined)?.tags ?? {})
    const hook = webhookAt(forum)
    const part = draft('A question', { options: { thread_name: 'How?', applied_tags: [tag] } })
    const post = await peer.publish(hook, part)
    const thread = lastMessage()?.channel ?? ''
    expect(state().channels[thread]).toMatchObject({ name: 'How?', parent: forum, type: 11 })
    expect(post).toMatchObject({ url: `https://discord.com/channels/guild/${thread}/${post.id}`, ids: { thread } })
    await publishing.edit?.(hook, post, { ...part, text: 'A better question' })
    expect(posts().at(-1)?.text).toBe('A better question')
    await expect(peer.publish(hook, draft('No title'))).rejects.toMatchObject({ kind: 'validation', code: '220001' })
    const inChannel = peer.publish(webhookAt(bot.remoteId), draft('No forum', { options: { thread_name: 'How?' } }))
    await expect(inChannel).rejects.toMatchObject({ kind: 'unsupported', code: '220003' })
    const asBot = peer.publish(bot, draft('A bot', { options: { thread_name: 'How?' } }))
    await expect(asBot).rejects.toMatchObject({ kind: 'validation', code: 'forum' })
  })

  test('a poll is published below the text, and not edited', async () => {
    const poll = { question: 'Which ones?', options: ['Cats', 'Dogs'], durationMinutes: 120, multiple: true }
    const part = draft('Tell us', { options: { poll } })
    const before = publishing.start(part, bot)
    const post = await peer.publish(bot, part)
    expect(lastMessage()?.poll).toMatchObject({
      question: { text: 'Which ones?' },
      duration: 2,
      allow_multiselect: true,
    })
    expect(await publishing.reconcile?.(bot, part, before)).toEqual({ kind: 'published', post })
    await expect(publishing.edit?.(bot, post, part)).rejects.toMatchObject({ kind: 'unsupported', code: 'poll' })
  })
})

describe('errors', () => {
  const fail = (part: ReturnType<typeof draft>) => expect(peer.publish(bot, part)).rejects.toMatchObject

  test('of content name the field', async () => {
    const long = {
      kind: 'validation',
      code: '50035',
      detail: 'Invalid Form Body content: Must be 2000 or fewer in length.',
    }
    await fail(draft('a'.repeat(2_001)))(long)
    await fail(draft(''))({ kind: 'validation', code: '50006' })
    await fail(draft('Large', { media: [image(Buffer.alloc(10_485_761))] }))({ kind: 'validation', code: '40005' })
    const embeds = [1, 2].map(() => ({ description: 'a'.repeat(3_001) }))
    await fail(draft('', { options: { embeds } }))({ kind: 'validation', code: 'embeds' })
  })

  test('of permissions', async () => {
    channel().deny = ATTACH
    await fail(draft('File', { media: [image()] }))({ kind: 'scope_missing', code: '50013', mayHaveHappened: false })
  })

  test('of the rate limit of a channel, with fractions of a second', async () => {
    for (let sent = 0; sent < 5; sent += 1) await peer.publish(bot, draft(`Message ${sent}`))
    expect(peer.budgets.at(-1)).toMatchObject({ limit: 5, remaining: 0, resetsAt: peer.clock.now() + 5_000 })
    peer.clock.advance(1_700)
    await fail(draft('Sixth'))({ kind: 'rate_limited', retryAfter: 4, mayHaveHappened: false })
  })

  test('of the rate limit of the bot', async () => {
    for (let read = 0; read < 50; read += 1) await discord.profile(bot).catch(() => undefined)
    await fail(draft('Too many'))({ kind: 'rate_limited', code: 'global', retryAfter: 1 })
  })

  const reply = (status: number, json: unknown) =>
    discord.reader.errorOf({ status, json, headers: {}, bytes: Buffer.alloc(0) })
  test.each([
    [401, { code: 50_027 }, 'auth_expired'],
    [400, { code: 200_000 }, 'policy_rejected'],
    [403, { code: 40_333 }, 'app_misconfigured'],
    [400, { code: 20_028 }, 'rate_limited'],
    [400, { code: 30_046 }, 'quota_exhausted'],
    [429, undefined, 'rate_limited'],
    [502, undefined, 'server_error'],
  ])('%i %j is %s', (status, json, kind) => {
    expect(reply(status, json)?.kind).toBe(kind)
  })
})

test('the client of discord.js works with the fake', async () => {
  const rest = new REST({ api: `${peer.running.url}/api`, version: '10' }).setToken(bot.credential.accessToken ?? '')
  const files = [{ name: 'a.png', data: Buffer.alloc(10), contentType: 'image/png' }]
  const body = { content: 'From discord.js', nonce: 'abc', enforce_nonce: true }
  const path = `/channels/${bot.remoteId}/messages` as const
  const sent = (await rest.post(path, { body, files })) as { id: string }
  expect(await rest.post(path, { body, files })).toMatchObject({ id: sent.id })
  expect(await rest.get(path)).toMatchObject([{ id: sent.id, attachments: [{ filename: 'a.png' }] }])
  const { id, token } = Object.values(state().webhooks).at(-1)!
  const query = new URLSearchParams({ wait: 'true' })
  const executed = await rest.post(`/webhooks/${id}/${token}`, { auth: false, query, body: { content: 'Hook' } })
  expect(executed).toMatchObject({ content: 'Hook', webhook_id: id })
  const poll = { question: { text: 'Which?' }, answers: [{ poll_media: { text: 'Cats' } }], duration: 1 }
  expect(await rest.post(path, { body: { poll } })).toMatchObject({
    content: '',
    poll: { question: { text: 'Which?' }, answers: [{ answer_id: 1, poll_media: { text: 'Cats' } }] },
  })
  await expect(rest.post(path, { body: { poll: { ...poll, duration: 769 } } })).rejects.toMatchObject({ code: 50_035 })
  const { threads } = (await rest.get(`/guilds/${channel().guild}/threads/active`)) as { threads: { id: string }[] }
  const inThread = new URLSearchParams({ wait: 'true', thread_id: threads[0]?.id ?? '' })
  const below = await rest.post(`/webhooks/${id}/${token}`, {
    auth: false,
    query: inThread,
    body: { content: 'Below' },
  })
  expect(below).toMatchObject({ channel_id: threads[0]?.id })
  await expect(rest.get('/channels/1')).rejects.toMatchObject({ code: 10_003, status: 404 })
  await rest.delete(`${path}/${sent.id}`)
  expect(posts().some((post) => post.id === sent.id)).toBe(false)
})
