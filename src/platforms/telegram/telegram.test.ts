import { Api, GrammyError, InputFile, InputMediaBuilder } from 'grammy'
import sharp from 'sharp'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import { HOUR, MINUTE } from '../../core/clock.ts'
import type { PostMedia } from '../content.ts'
import { check } from '../rules/engine.ts'
import { effectiveLimits } from '../rules/limits.ts'
import { generatedFile } from '../../../sandbox/media-facts.ts'
import type { PublishContext, PublishPart } from '../publishing.ts'
import type { FakeChat, FakeState } from '../../../sandbox/telegram/state.ts'
import { telegram } from './index.ts'
import { publishing } from './publishing.ts'

let peer: FakePlatform
/** A bot in its channel, and the same bot in a group. */
let channel: PublishContext
let group: PublishContext

beforeAll(async () => {
  peer = await FakePlatform.start(telegram)
})
afterAll(() => peer.stop())
beforeEach(async () => {
  peer.clock.advance(MINUTE)
  channel = await peer.connect()
  const chat = String(state().chats.at(-1)?.id)
  group = peer.as({ ...channel.credential, chat }, chat)
})

const state = () => peer.running.fake.state as FakeState
const chatOf = (context: PublishContext) => state().chats.find(({ id }) => String(id) === context.credential['chat'])!
const bot = () => state().bots[channel.credential.accessToken ?? '']!
const memberOf = (context: PublishContext) => chatOf(context).members[bot().id]!
const posts = () => peer.running.fake.posts()
const messages = () => state().messages
const photo = (bytes?: Buffer<ArrayBuffer>) => peer.file({ kind: 'image', type: 'image/jpeg' }, bytes)
const video = () => peer.file({ kind: 'video', type: 'video/mp4', seconds: 9.6, width: 1_080, height: 1_920 })
const gif = () => peer.file({ kind: 'gif', type: 'image/gif' })
const pdf = () => peer.file({ kind: 'document', type: 'application/pdf' })
const send = (text: string, more: Partial<PublishPart> = {}) => peer.publish(channel, partOf(text, more))
const fail = (part: PublishPart, context = channel) => expect(peer.publish(context, part)).rejects.toMatchObject

describe('credentials', () => {
  const connect = (chat: string, botToken = channel.credential.accessToken ?? '') =>
    telegram.credentials.connect(peer.context, { botToken, chat })

  test('a chat is found by its name and by its number', async () => {
    for (const chat of [`@${chatOf(channel).username}`, channel.remoteId]) {
      const { credential, profile } = await connect(chat)
      expect(profile).toMatchObject({ remoteId: channel.remoteId, kind: 'channel', name: chatOf(channel).title })
      expect(credential).toEqual({ ...channel.credential, server: undefined })
    }
    expect((await connect(group.remoteId)).profile).toMatchObject({ remoteId: group.remoteId, kind: 'group' })
  })

  test.each([
    ['a wrong token', () => connect(channel.remoteId, `1:${'a'.repeat(35)}`), { kind: 'auth_expired' }],
    ['an unknown chat', () => connect('@nobody_here'), { kind: 'account_restricted', detail: /chat not found/ }],
  ])('%s is refused', async (_name, attempt, { detail, kind }: { kind: string; detail?: RegExp }) => {
    const error = await attempt().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind })
    if (detail !== undefined) expect((error as { detail?: string }).detail).toMatch(detail)
  })

  test.each([
    ['is not an administrator', { status: 'member', rights: {} }, 'is not an administrator of this channel'],
    ['may not post', { status: 'administrator', rights: {} }, 'may not post messages in this channel'],
    ['was removed', { status: 'kicked', rights: {} }, 'is not a member of this chat'],
  ] as const)('a bot that %s in the channel is refused', async (_name, member, reason) => {
    chatOf(channel).members[bot().id] = { ...member }
    const detail = `@${bot().username} ${reason}.`
    await expect(connect(channel.remoteId)).rejects.toMatchObject({ kind: 'scope_missing', detail })
  })

  test('a group whose members may not write is refused', async () => {
    chatOf(group).permissions['can_send_messages'] = false
    await expect(connect(group.remoteId)).rejects.toMatchObject({ code: 'bot_rights' })
    memberOf(group).status = 'administrator'
    expect((await connect(group.remoteId)).profile.remoteId).toBe(group.remoteId)
  })

  test('the token is in no log and no error', async () => {
    const token = channel.credential.accessToken ?? ''
    await send('Logged', { media: [photo()] })
    peer.running.faults.add({ path: '/sendMessage', kind: 'refuse', times: 1 })
    const behind = { ...channel.settings, apiUrl: `${peer.running.url}/bots/gateway` }
    const errors = await Promise.all([
      peer.publish(channel, partOf('Lost')).catch((error: unknown) => error),
      peer.publish(channel, partOf('')).catch((error: unknown) => error),
      // A gateway whose path looks like that of a bot.
      peer.publish({ ...channel, settings: behind }, partOf('Gateway')).catch((error: unknown) => error),
    ])
    const written = JSON.stringify([peer.calls, errors, errors.map((error) => String((error as Error).stack))])
    expect(peer.calls.length).toBeGreaterThan(2)
    expect(written).not.toContain(token)
    expect(written).toContain('/bot[redacted]/sendMessage')
  })
})

describe('capabilities', () => {
  const of = (context: PublishContext) => telegram.capabilities(context)

  test('of a channel have no comments', async () => {
    expect(await of(channel)).toMatchObject({
      limits: { 'comment.max': 0 },
      blocked: { comment: expect.stringContaining('Write a thread') as unknown },
      details: { chat: { type: 'channel', hasTopics: false }, rights: { pin: true, delete: false } },
    })
  })

  test('of a group are what its members may send', async () => {
    expect(await of(group)).toMatchObject({ limits: {}, blocked: {}, details: { rights: { pin: false } } })
    chatOf(group).permissions = { can_send_messages: true, can_send_photos: false, can_send_documents: false }
    expect(Object.keys((await of(group)).blocked)).toEqual(['image', 'document'])
    chatOf(group).members[bot().id] = { status: 'restricted', rights: {} }
    expect((await of(group)).blocked).toMatchObject({ publish: `@${bot().username} may not send messages here.` })
    chatOf(group).members[bot().id] = { status: 'administrator', rights: { can_pin_messages: true } }
    expect(await of(group)).toMatchObject({ blocked: {}, details: { rights: { pin: true } } })
  })

  test('of an own server of the Bot API have larger files', async () => {
    const { sandboxUrl: _, ...settings } = channel.settings
    const { limits } = await of({ ...channel, settings })
    expect(limits).toMatchObject({ 'video.maxBytes': 2_000_000_000, 'document.maxBytes': 2_000_000_000 })
    expect((await of(channel)).limits['video.maxBytes']).toBeUndefined()
  })
})

describe('publishing', () => {
  test('a text, with its address', async () => {
    const post = await send('Hello', { link: 'https://example.com/a' })
    expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Hello\nhttps://example.com/a', media: [] })
    expect(post.url).toBe(`https://t.me/${chatOf(channel).username}/${post.id}`)
  })

  test('in a private chat, with the address for members', async () => {
    const at = state().chats.indexOf(chatOf(channel))
    state().chats[at] = { ...chatOf(channel), username: null }
    const post = await send('Members only')
    expect(post.url).toBe(`https://t.me/c/${channel.remoteId.slice('-100'.length)}/${post.id}`)
  })

  test.each([
    ['a photo', photo, 'photo', 'image/jpeg'],
    ['a video', video, 'video', 'video/mp4'],
    ['an animation', gif, 'animation', 'image/gif'],
    ['a document', pdf, 'document', 'application/pdf'],
  ] as const)('%s with a caption', async (_name, file, field, type) => {
    await send('Look: “ü” 🎉', { media: [file()] })
    expect(posts().at(-1)).toMatchObject({ text: 'Look: “ü” 🎉', media: [type] })
    expect(messages().at(-1)).toMatchObject({ file: { field } })
  })

  test('a file without a caption', async () => {
    await send('', { media: [photo()] })
    expect(posts().at(-1)).toMatchObject({ text: '', media: ['image/jpeg'] })
  })

  test('an album of photos and videos, with the text at the first one', async () => {
    const media = [photo(), video(), photo()]
    const post = await send('Album', { media })
    expect(posts().at(-1)).toMatchObject({ id: post.id, text: 'Album', media: media.map(({ type }) => type) })
    expect(
      messages()
        .slice(-3)
        .map(({ text }) => text),
    ).toEqual(['Album', '', ''])
    expect(post.ids?.['messages']?.split(',')).toHaveLength(3)
  })

  test('several documents, with the text at the last one', async () => {
    const post = await send('Papers', { media: [pdf(), pdf()] })
    expect(
      messages()
        .slice(-2)
        .map(({ text }) => text),
    ).toEqual(['', 'Papers'])
    await publishing.edit?.(channel, post, partOf('New papers'))
    expect(
      messages()
        .slice(-2)
        .map(({ text }) => text),
    ).toEqual(['', 'New papers'])
  })

  test.each([
    ['documents with photos', () => [photo(), pdf()]],
    ['animations with photos', () => [photo(), gif()]],
  ])('%s are refused before a call', async (_name, media: () => PostMedia[]) => {
    const part = partOf('Mixed', { media: media() })
    const calls = peer.calls.length
    expect(() => publishing.start(part, channel)).toThrow(expect.objectContaining({ code: 'album' }) as Error)
    expect(peer.calls).toHaveLength(calls)
    const limits = effectiveLimits(telegram)
    const refused = check(telegram, limits, { ...part, options: {} }).filter(({ severity }) => severity === 'error')
    expect(refused.map(({ rule }) => rule)).toHaveLength(1)
  })

  test('a thread, part for part', async () => {
    const root = await send('One')
    const second = await send('Two', { role: 'reply', root, parent: root, media: [photo(), photo()] })
    await send('Three', { role: 'reply', root, parent: second })
    expect(posts().slice(-2)).toMatchObject([{ replyTo: root.id }, { replyTo: second.id, text: 'Three' }])
  })

  test('a first comment in a group is a reply, and a channel has none', async () => {
    const inGroup = await peer.publish(group, partOf('Question'))
    await peer.publish(group, partOf('Answer', { role: 'comment', root: inGroup, parent: inGroup }))
    expect(posts().at(-1)).toMatchObject({ text: 'Answer', replyTo: inGroup.id })
    const root = await send('News')
    const comment = partOf('First', { role: 'comment', root, parent: root })
    const calls = peer.calls.length
    await expect(peer.prepare(channel, comment)).rejects.toMatchObject({ kind: 'unsupported', code: 'channel_comment' })
    expect(peer.calls).toHaveLength(calls)
  })
})

describe('options', () => {
  test('make a message silent, protected, without a preview, in a topic', async () => {
    chatOf(group).topics = [77]
    const options = {
      disable_notification: true,
      protect_content: true,
      message_thread_id: 77,
      link_preview_options: { is_disabled: true },
    }
    await peer.publish(group, partOf('Quiet', { options }))
    const sent = { isSilent: true, isProtected: true, topic: 77 }
    expect(messages().at(-1)).toMatchObject({ ...sent, preview: { is_disabled: true } })
    await peer.publish(group, partOf('Quiet', { options, media: [photo()] }))
    expect(messages().at(-1)).toMatchObject(sent)
    await fail(partOf('Elsewhere', { options: { message_thread_id: 78 } }), group)({ kind: 'validation' })
  })

  test.each([
    ['HTML', '<b>Bold</b> &amp; <a href="https://example.com">link</a>', 'Bold & link\nhttps://example.com/?a=1&b=2'],
    [
      'MarkdownV2',
      String.raw`*Bold* \& _it_ [link](https://example.com)\.`,
      'Bold & it link.\nhttps://example.com/?a=1&b=2',
    ],
  ])('%s is markup, and the link is not', async (mode, text, shown) => {
    const part = { options: { parse_mode: mode }, link: 'https://example.com/?a=1&b=2' }
    const post = await send(text, part)
    expect(posts().at(-1)?.text).toBe(shown)
    await fail(partOf('<b>1. Open', part))({
      kind: 'validation',
      detail: expect.stringMatching(/parse entities/) as unknown,
    })
    await publishing.edit?.(channel, post, partOf(text.replace('Bold', 'New'), part))
    expect(posts().at(-1)?.text).toBe(shown.replace('Bold', 'New'))
  })

  test('pin the message after it is published', async () => {
    const post = await send('Pinned', { options: { pin: true } })
    expect(messages().at(-1)).toMatchObject({ id: Number(post.id), isPinned: true })
  })

  test('publish without a pin where the bot may not pin', async () => {
    const post = await peer.publish(group, partOf('Not pinned', { options: { pin: true } }))
    expect(posts().at(-1)?.id).toBe(post.id)
    expect(post.ids?.['pinRefused']).toMatch(/not enough rights to manage pinned messages/)
  })

  test('a lost reply to the pin makes no second message', async () => {
    const part = partOf('Once', { options: { pin: true } })
    peer.running.faults.add({ path: '/pinChatMessage', kind: 'cut', times: 1 })
    const sent = await publishing.step(channel, part, publishing.start(part, channel))
    if (sent.kind !== 'next') throw new Error('published before the pin')
    expect(publishing.commits(sent.state)).toBe(false)
    await expect(publishing.step(channel, part, sent.state)).rejects.toMatchObject({ kind: 'network' })
    await peer.publish(channel, part, sent.state)
    expect(posts().filter(({ text }) => text === 'Once')).toHaveLength(1)
    expect(messages().at(-1)?.isPinned).toBe(true)
  })
})

test('a call whose reply was lost is not repeated, because nothing can tell whether it was made', async () => {
  expect(publishing.repeatable).toBe(false)
  expect(publishing.reconcile).toBeUndefined()
  const part = partOf('Lost', { media: [photo(), photo()] })
  expect(publishing.commits(publishing.start(part, channel))).toBe(true)
  peer.running.faults.add({ path: '/sendMediaGroup', kind: 'cut', times: 1 })
  await fail(part)({ kind: 'network', retry: 'reconcile', mayHaveHappened: true })
  expect(posts().filter(({ text }) => text === 'Lost')).toHaveLength(1)
})

describe('a published message', () => {
  test('is edited, also when nothing changes', async () => {
    const text = await send('Typo')
    const caption = await send('Tipo', { media: [photo(), photo()] })
    for (const post of [text, caption]) {
      for (const _ of [1, 2]) await publishing.edit?.(channel, post, partOf('Right'))
    }
    expect(posts().slice(-2)).toMatchObject([{ text: 'Right' }, { text: 'Right' }])
    await publishing.edit?.(channel, caption, partOf(''))
    expect(posts().at(-1)).toMatchObject({ text: '', media: ['image/jpeg', 'image/jpeg'] })
    messages().length = 0
    await expect(publishing.edit?.(channel, text, partOf('Gone'))).rejects.toMatchObject({ code: 'message_not_found' })
  })

  test('is removed with its whole album, twice', async () => {
    const before = messages().length
    const post = await send('Album', { media: [photo(), video()] })
    await publishing.remove?.(channel, post)
    await publishing.remove?.(channel, post)
    expect(messages()).toHaveLength(before)
  })

  test('cannot be removed after 48 hours, and the error says so', async () => {
    const post = await send('Old')
    peer.clock.advance(48 * HOUR)
    await expect(publishing.remove?.(channel, post)).rejects.toMatchObject({
      kind: 'unsupported',
      code: 'message_too_old',
      detail: expect.stringContaining('for 48 hours') as unknown,
    })
  })
})

test('a group that has become a supergroup is still the same account', async () => {
  const old = chatOf(group)
  const chat: FakeChat = { ...old, id: old.id - 1, topics: [], permissions: { ...old.permissions } }
  state().chats.push(chat)
  const before = await peer.publish(group, partOf('Before'))
  old.migratedTo = chat.id
  const post = await peer.publish(group, partOf('After', { media: [photo()] }))
  expect(messages().at(-1)).toMatchObject({ chat: chat.id, text: 'After' })
  expect(post.ids).toMatchObject({ chat: String(chat.id) })
  await peer.publish(group, partOf('Reply', { role: 'reply', root: post, parent: post }))
  expect(posts().at(-1)?.replyTo).toBe(post.id)
  expect(await telegram.profile(group)).toMatchObject({ remoteId: group.remoteId, name: chat.title })
  expect(before.ids).toMatchObject({ chat: group.remoteId })
})

describe('a poll', () => {
  const poll = { options: ['Cats', 'Dogs'], durationMinutes: 10, multiple: true }

  test('has the text as its question, and no text that could be edited', async () => {
    const post = await send('Which ones?', { options: { poll } })
    expect(messages().at(-1)).toMatchObject({
      poll: { question: 'Which ones?', options: ['Cats', 'Dogs'], multiple: true, openPeriod: 600 },
    })
    const edit = publishing.edit?.(channel, post, partOf('Which one?', { options: { poll } }))
    await expect(edit).rejects.toMatchObject({ kind: 'unsupported', code: 'poll' })
  })

  test('without a duration stays open', async () => {
    await send('Which one?', { options: { poll: { options: ['Cats', 'Dogs'] } } })
    expect(messages().at(-1)?.poll).toMatchObject({ multiple: false, openPeriod: null })
  })

  test('is refused before publication where members may send none', async () => {
    chatOf(group).permissions['can_send_polls'] = false
    const { blocked } = await telegram.capabilities(group)
    expect(blocked).toEqual({ poll: `@${bot().username} may not send polls to this chat.` })
    const limits = effectiveLimits(telegram, undefined, { limits: {}, blocked })
    const content = { text: 'Which?', media: [], options: { poll } }
    expect(check(telegram, limits, content)).toMatchObject([{ rule: 'account.blocked', pointer: '/options/poll' }])
    await fail(partOf('Which?', { options: { poll } }), group)({ kind: 'scope_missing' })
  })
})

describe('errors', () => {
  test('of content', async () => {
    await fail(partOf(''))({ kind: 'validation', code: '400', mayHaveHappened: false })
    await fail(partOf('🎉'.repeat(4_097)))({ detail: 'Bad Request: message is too long' })
    expect(await send('🎉'.repeat(4_096))).toHaveProperty('id')
    await fail(partOf('a'.repeat(1_025), { media: [photo()] }))({ detail: 'Bad Request: message caption is too long' })
    const large = partOf('Large', { media: [photo(Buffer.alloc(10_485_761))] })
    await fail(large)({ kind: 'validation', detail: expect.stringContaining('too big for a photo') as unknown })
    const long = photo(generatedFile({ width: 2_001, height: 100 }, 1_000))
    await fail(partOf('Long', { media: [long] }))({ kind: 'media_processing' })
  })

  test('of rights and membership', async () => {
    const part = partOf('Not allowed', { media: [photo()] })
    chatOf(group).permissions['can_send_photos'] = false
    await fail(part, group)({ kind: 'scope_missing', mayHaveHappened: false })
    memberOf(group).status = 'kicked'
    await fail(
      part,
      group,
    )({ kind: 'account_restricted', detail: 'Forbidden: bot was kicked from the supergroup chat' })
    delete state().bots[channel.credential.accessToken ?? '']
    await fail(part)({ kind: 'auth_expired' })
  })

  test('of the limit of a group, with the time until the next message', async () => {
    for (let sent = 0; sent < 20; sent += 1) await peer.publish(group, partOf(`Message ${sent}`))
    peer.clock.advance(15_500)
    await fail(partOf('Too many'), group)({ kind: 'rate_limited', retryAfter: 45, mayHaveHappened: false })
    expect(await send('In the channel')).toHaveProperty('id')
  })

  test('of Telegram’s servers leave the outcome open', async () => {
    peer.running.faults.add({ path: '/sendMessage', kind: 'status', status: 502, times: 1 })
    await fail(partOf('Bad gateway'))({ kind: 'server_error', mayHaveHappened: true })
    peer.running.faults.add({ path: '/sendMessage', kind: 'status', status: 429, retryAfter: 3, times: 1 })
    await fail(partOf('Slowly'))({ kind: 'rate_limited', retryAfter: 3 })
  })

  const kindOf = (error_code: number, description: string) => {
    const json = { ok: false, error_code, description }
    return telegram.reader.errorOf({ status: error_code, json, headers: {}, bytes: Buffer.alloc(0) })?.kind
  }
  test.each([
    [403, 'Forbidden: bot was kicked from the channel chat', 'account_restricted'],
    [403, 'Forbidden: bot was blocked by the user', 'account_restricted'],
    [400, 'Bad Request: chat not found', 'account_restricted'],
    [400, 'Bad Request: CHANNEL_PRIVATE', 'account_restricted'],
    [400, 'Bad Request: not enough rights to send photos to the chat', 'scope_missing'],
    [400, 'Bad Request: need administrator rights in the channel chat', 'scope_missing'],
    [400, 'Bad Request: CHAT_WRITE_FORBIDDEN', 'scope_missing'],
    [400, 'Bad Request: IMAGE_PROCESS_FAILED', 'media_processing'],
    [400, 'Bad Request: message thread not found', 'validation'],
    [400, 'Bad Request: message to be replied not found', 'validation'],
    [413, 'Request Entity Too Large', 'validation'],
    [404, 'Not Found', 'auth_expired'],
    [500, 'Internal Server Error', 'server_error'],
  ])('%i %s is %s', (code, description, kind) => {
    expect(kindOf(code, description)).toBe(kind)
  })
})

test('the client of grammY works with the fake', async () => {
  const api = new Api(channel.credential.accessToken ?? '', { apiRoot: peer.running.url })
  const chat = channel.remoteId
  expect(await api.getMe()).toMatchObject({ is_bot: true, username: bot().username })
  expect(await api.getChat(chat)).toMatchObject({ type: 'channel', title: chatOf(channel).title })
  expect(await api.getChatMember(chat, bot().id)).toMatchObject({ status: 'administrator', can_post_messages: true })
  const text = await api.sendMessage(chat, '<b>Bold</b>', {
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
    protect_content: true,
  })
  expect(text).toMatchObject({ text: 'Bold', has_protected_content: true, sender_chat: { id: Number(chat) } })
  const file = () => new InputFile(Buffer.alloc(100, 7), 'a “b”.jpg')
  const photoSent = await api.sendPhoto(chat, file(), {
    caption: 'A photo',
    reply_parameters: { message_id: text.message_id },
  })
  expect(photoSent).toMatchObject({ caption: 'A photo', reply_to_message: { message_id: text.message_id } })
  const fileId = photoSent.photo.at(-1)?.file_id ?? ''
  expect((await api.sendPhoto(chat, fileId)).photo).toMatchObject([{ file_id: fileId, file_size: 100 }])
  expect((await api.sendVideo(chat, file(), { duration: 3 })).video.file_size).toBe(100)
  expect((await api.sendAnimation(chat, file())).animation.file_size).toBe(100)
  expect((await api.sendDocument(chat, file())).document.file_size).toBe(100)
  const html =
    '<b>Bold <i>both</i></b> &amp; <a href="https://example.com/?a=1&amp;b=2">link</a> 👍 <pre><code class="language-ts">1</code></pre>'
  const marked = await api.sendMessage(chat, html, { parse_mode: 'HTML' })
  expect(marked).toMatchObject({
    text: 'Bold both & link 👍 1',
    entities: [
      { type: 'bold', offset: 0, length: 9 },
      { type: 'italic', offset: 5, length: 4 },
      { type: 'text_link', offset: 12, length: 4, url: 'https://example.com/?a=1&b=2' },
      // An emoji has two UTF-16 units.
      { type: 'pre', offset: 20, length: 1, language: 'ts' },
    ],
  })
  const png = await sharp({ create: { width: 640, height: 480, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const jpeg = await sharp(png).jpeg().toBuffer()
  for (const picture of [png, jpeg]) {
    const sent = await api.sendPhoto(chat, new InputFile(picture, 'p'), {
      caption: '<i>A photo</i>',
      parse_mode: 'HTML',
    })
    expect(sent.caption_entities).toEqual([{ type: 'italic', offset: 0, length: 7 }])
    expect(sent.photo.map(({ height, width }) => [width, height])).toEqual([
      [90, 68],
      [320, 240],
      [640, 480],
    ])
    // Any size of the photo can be sent again.
    expect((await api.sendPhoto(chat, sent.photo[0]?.file_id ?? '')).photo).toHaveLength(3)
  }
  const clip = await api.sendVideo(chat, file(), { width: 320, height: 240, duration: 3 })
  expect(clip.video).toMatchObject({ width: 320, height: 240, duration: 3 })
  const asked = await api.sendPoll(chat, 'Which?', ['Cats', { text: 'Dogs' }], { open_period: 600 })
  expect(asked.poll).toMatchObject({
    question: 'Which?',
    is_closed: false,
    open_period: 600,
    options: [{ text: 'Cats' }, { text: 'Dogs' }],
  })
  const many = Array.from({ length: 13 }, (_, index) => String(index))
  await expect(api.sendPoll(chat, 'Which?', many)).rejects.toBeInstanceOf(GrammyError)
  const album = await api.sendMediaGroup(chat, [
    InputMediaBuilder.photo(file(), { caption: 'An album' }),
    InputMediaBuilder.video(file()),
  ])
  const groups = album.map((message) => (message as { media_group_id?: string }).media_group_id)
  expect(groups).toEqual([expect.any(String), groups[0]])
  expect(posts().at(-1)).toMatchObject({ text: 'An album', media: ['image/jpeg', 'image/jpeg'] })
  expect(await api.editMessageText(chat, text.message_id, 'New')).toMatchObject({ text: 'New' })
  expect(await api.editMessageCaption(chat, photoSent.message_id, { caption: 'New' })).toMatchObject({ caption: 'New' })
  expect(await api.pinChatMessage(chat, text.message_id)).toBe(true)
  expect(await api.deleteMessage(chat, text.message_id)).toBe(true)
  const refused = await api.sendMessage(chat, '').catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(GrammyError)
  expect(refused).toMatchObject({ error_code: 400, description: 'Bad Request: message text is empty' })
})
