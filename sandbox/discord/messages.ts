import type { FakeReply, FakeRequest } from '../fake.ts'
import { partsOf } from '../multipart.ts'
import { failure, invalid } from './failures.ts'
import { pollRefusal, pollView, type FakePoll } from './polls.ts'

/** A message of a channel. */
export interface FakeMessage {
  readonly id: string
  readonly channel: string
  /** The id of the bot or webhook. */
  readonly author: string
  readonly isWebhook: boolean
  content: string
  readonly embeds: readonly object[]
  readonly files: readonly FakeFile[]
  readonly poll?: FakePoll | null
  readonly replyTo: string | null
  readonly nonce: string | null
  readonly at: number
}

interface FakeFile {
  readonly name: string
  readonly type: string
  readonly bytes: number
  readonly description: string | null
}

/** The content of a message that a request creates. */
export interface Draft {
  readonly content: string
  readonly embeds: readonly object[]
  readonly files: readonly FakeFile[]
  readonly replyTo: string | null
  readonly mustExist: boolean
  readonly nonce: string | null
  readonly isNonceEnforced: boolean
  readonly poll: FakePoll | null
  readonly threadName: string | null
  readonly tags: readonly string[]
}

const CONTENT = 2_000
const EMBEDS = 10
const EMBED_CHARACTERS = 6_000
const FILES = 10
const DESCRIPTION = 1_024
const NONCE = 25

export const EMPTY = failure(400, 50_006, 'Cannot send an empty message')
export const TOO_LARGE = failure(413, 40_005, 'Request entity too large')

/** Reads a message from JSON, or from a form with `payload_json` and `files[n]`. */
export function draftOf(request: FakeRequest): { draft: Draft } | { refusal: FakeReply } {
  const parts = partsOf(request.headers['content-type'], request.bytes)
  const payloadPart = parts.find(({ name }) => name === 'payload_json')
  let body: FakeRequest['body']
  try {
    body =
      payloadPart === undefined
        ? request.body
        : (JSON.parse(payloadPart.bytes.toString('utf8')) as Record<string, unknown>)
  } catch {
    return { refusal: failure(400, 50_109, 'The request body contains invalid JSON.') }
  }
  const described = (body['attachments'] ?? []) as { id: number | string; description?: string }[]
  const sent = parts.filter(({ name }) => name !== 'payload_json')
  const strange = sent.find(({ filename, name }) => !/^files\[\d+\]$/.test(name) || filename === null)
  if (strange !== undefined) return { refusal: invalid(strange.name, 'This part is not a file.') }
  const files = sent.map(({ bytes, filename, name, type }) => {
    const index = /\d+/.exec(name)?.[0]
    const description = described.find(({ id }) => String(id) === index)?.description ?? null
    return { name: filename ?? '', type: type ?? 'application/octet-stream', bytes: bytes.length, description }
  })
  const { nonce } = body
  const reference = body['message_reference'] as { message_id?: string; fail_if_not_exists?: boolean } | undefined
  return {
    draft: {
      content: typeof body['content'] === 'string' ? body['content'].trim() : '',
      embeds: (body['embeds'] as object[] | undefined) ?? [],
      files,
      replyTo: reference?.message_id ?? null,
      mustExist: reference?.fail_if_not_exists !== false,
      nonce: typeof nonce === 'string' || typeof nonce === 'number' ? String(nonce) : null,
      isNonceEnforced: body['enforce_nonce'] === true,
      poll: (body['poll'] as FakePoll | null | undefined) ?? null,
      threadName: typeof body['thread_name'] === 'string' ? body['thread_name'] : null,
      tags: (body['applied_tags'] as string[] | null | undefined) ?? [],
    },
  }
}

/** The first rule that a message breaks. */
export function refusalOf({ content, embeds, files, nonce, poll }: Draft, fileBytes: number): FakeReply | undefined {
  if (content === '' && embeds.length === 0 && files.length === 0 && poll === null) return EMPTY
  if (Array.from(content).length > CONTENT) return invalid('content', `Must be ${CONTENT} or fewer in length.`)
  if (embeds.length > EMBEDS) return invalid('embeds', `Must be ${EMBEDS} or fewer in length.`)
  if (embeds.reduce((sum, embed) => sum + charactersOf(embed), 0) > EMBED_CHARACTERS) {
    return invalid('embeds', `Embed size exceeds maximum size of ${EMBED_CHARACTERS}`)
  }
  if (files.length > FILES) return invalid('files', `Must be ${FILES} or fewer in length.`)
  if (files.some(({ bytes }) => bytes > fileBytes)) return TOO_LARGE
  if (files.some(({ description }) => Array.from(description ?? '').length > DESCRIPTION)) {
    return invalid('attachments', `Must be ${DESCRIPTION} or fewer in length.`)
  }
  const refused = poll === null ? undefined : pollRefusal(poll)
  if (refused !== undefined) return refused
  return nonce !== null && nonce.length > NONCE ? invalid('nonce', `Must be ${NONCE} or fewer in length.`) : undefined
}

/** The characters of the titles, descriptions, names and values of an embed. */
function charactersOf(embed: object): number {
  return Object.entries(embed).reduce((sum, [name, value]) => {
    if (['url', 'color', 'timestamp', 'type', 'inline', 'icon_url'].includes(name)) return sum
    if (typeof value === 'string') return sum + Array.from(value).length
    if (Array.isArray(value)) return sum + value.reduce((all: number, one: object) => all + charactersOf(one), 0)
    return typeof value === 'object' && value !== null ? sum + charactersOf(value as object) : sum
  }, 0)
}

/** A message as the API shows it. */
export function messageView(base: string, message: FakeMessage, name: string) {
  const { at, author, channel, content, embeds, files, id, isWebhook, nonce, poll, replyTo } = message
  return {
    id,
    type: replyTo === null ? 0 : 19,
    channel_id: channel,
    content,
    author: {
      id: author,
      username: name,
      global_name: null,
      avatar: null,
      discriminator: '0000',
      public_flags: 0,
      flags: 0,
      bot: true,
      primary_guild: null,
    },
    attachments: files.map((file, index) => {
      const fileId = String(BigInt(id) + BigInt(index) + 1n)
      const url = `${base}/attachments/${channel}/${fileId}/${encodeURIComponent(file.name)}`
      return {
        id: fileId,
        filename: file.name.replaceAll(' ', '_'),
        size: file.bytes,
        content_type: file.type,
        url,
        proxy_url: url,
        ...(file.description !== null && { description: file.description }),
      }
    }),
    embeds: embeds.map((embed) => ({ type: 'rich', ...embed })),
    mentions: [],
    mention_roles: [],
    components: [],
    pinned: false,
    mention_everyone: false,
    tts: false,
    flags: 0,
    timestamp: new Date(at).toISOString(),
    edited_timestamp: null,
    reactions: [],
    ...(poll && { poll: pollView(poll, at) }),
    ...(nonce !== null && { nonce }),
    ...(isWebhook && { webhook_id: author }),
    ...(replyTo !== null && { message_reference: { type: 0, channel_id: channel, message_id: replyTo } }),
  }
}
